-- The telescope extension: require('telescope').load_extension('forklift'), then
-- :Telescope forklift. <CR> restores after a question, <C-d> shows what
-- differs, <C-f> forgets after a question.
local telescope = require('telescope')

local function checkpoints(opts)
  local pickers = require('telescope.pickers')
  local finders = require('telescope.finders')
  local settings = require('telescope.config').values
  local actions = require('telescope.actions')
  local state = require('telescope.actions.state')
  local picker = require('forklift.picker')
  local root = require('forklift.client').root()
  opts = opts or {}
  if not root then
    return require('forklift.ui').notify('this is in no git worktree', vim.log.levels.ERROR)
  end

  -- chosen closes the picker and goes on with what was selected.
  local function chosen(prompt, f)
    return function()
      local entry = state.get_selected_entry()
      actions.close(prompt)
      if entry then
        f(entry.value.ref)
      end
    end
  end

  picker.fetch(root, { project = opts.project, all = opts.all, limit = 500 }, function(err, rows)
    if err then
      return require('forklift.ui').fail(err)
    end
    pickers
      .new(opts, {
        prompt_title = 'Forklift checkpoints',
        finder = finders.new_table({
          results = rows,
          entry_maker = function(c)
            return { value = c, display = picker.format(c), ordinal = c.ref .. ' ' .. (c.note or '') }
          end,
        }),
        sorter = settings.generic_sorter(opts),
        attach_mappings = function(prompt, map)
          actions.select_default:replace(chosen(prompt, function(ref)
            require('forklift.actions').perform(root, 'restore', { ref = ref })
          end))
          map(
            { 'i', 'n' },
            '<C-d>',
            chosen(prompt, function(ref)
              require('forklift.diff').changes(root, ref)
            end)
          )
          map(
            { 'i', 'n' },
            '<C-f>',
            chosen(prompt, function(ref)
              require('forklift.command').forget(root, { ref })
            end)
          )
          return true
        end,
      })
      :find()
  end)
end

return telescope.register_extension({ exports = { forklift = checkpoints, checkpoints = checkpoints } })
