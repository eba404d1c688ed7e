-- Comparing with a checkpoint: a file in two windows, or the whole worktree as
-- a patch with the tables that differ and what is defined otherwise.
local client = require('forklift.client')
local content = require('forklift.content')
local state = require('forklift.state')
local ui = require('forklift.ui')
local unsaved = require('forklift.unsaved')

local M = {}

-- base calls back with the checkpoint that is meant: the given one, else the
-- one that the worktree rests on.
local function base(root, ref, callback)
  if ref then
    return callback(ref)
  end
  local function known(status)
    local c = status and (status.source_checkpoint or status.checkpoint)
    if not c then
      return ui.notify('there is no checkpoint yet; :Forklift capture makes one')
    end
    callback(c.worktree ~= status.worktree.name and (c.worktree .. ':' .. c.name) or c.name)
  end
  if state.get(root) then
    return known(state.get(root))
  end
  client.request(root, 'forklift/status', { worktree = vim.uri_from_fname(root) }, function(err, status)
    if err then
      return ui.fail(err)
    end
    known(status)
  end)
end

-- file compares the file of a buffer with a checkpoint: the checkpoint's text
-- on the left, in diff mode.
function M.file(root, ref, buf)
  local path = unsaved.inside(buf, root)
  if not path then
    return M.changes(root, ref)
  end
  base(root, ref, function(name)
    content.load(vim.fs.joinpath(root, path), name, function(err, old)
      if err then
        return ui.fail(err)
      end
      local win = vim.fn.bufwinid(buf)
      if win == -1 then
        return
      end
      vim.api.nvim_set_current_win(win)
      vim.cmd.diffthis()
      vim.cmd('leftabove vertical sbuffer ' .. old)
      vim.cmd.diffthis()
      vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = old, nowait = true, desc = 'Close the comparison' })
      vim.api.nvim_create_autocmd('BufWinLeave', {
        buffer = old,
        once = true,
        callback = function()
          if vim.api.nvim_win_is_valid(win) then
            vim.api.nvim_win_call(win, vim.cmd.diffoff)
          end
        end,
      })
      vim.api.nvim_set_current_win(win)
    end)
  end)
end

-- mode writes the permission bits as git does.
local function mode(bits)
  return '100' .. (bits and bits:sub(-3) or '644')
end

-- patch is one file of a diff as git writes it.
local function patch(lines, f)
  if f.patch and f.patch ~= '' then
    table.insert(lines, ('diff --git a/%s b/%s'):format(f.path, f.path))
    if f.change == 'added' then
      table.insert(lines, 'new file mode ' .. mode(f.new_mode))
    elseif f.change == 'removed' then
      table.insert(lines, 'deleted file mode ' .. mode(f.old_mode))
    end
    table.insert(lines, '--- ' .. (f.change == 'added' and '/dev/null' or 'a/' .. f.path))
    table.insert(lines, '+++ ' .. (f.change == 'removed' and '/dev/null' or 'b/' .. f.path))
    vim.list_extend(lines, vim.split((f.patch:gsub('\n$', '')), '\n'))
  else
    table.insert(lines, ('# %s: %s%s'):format(f.path, f.change, f.binary and ', not text' or f.why and (', ' .. f.why) or ''))
  end
end

-- render is a diff as lines.
local function render(d)
  local lines = {
    ('# From %s to %s: %s, +%d -%d lines'):format(
      d.from.name or 'nothing',
      d.to.working and 'what is there now' or d.to.name,
      ui.plural(d.file_count, 'file'),
      d.inserted,
      d.deleted
    ),
  }
  for _, t in ipairs(d.tables or {}) do
    table.insert(lines, ('# table %s: %s'):format(t.table, ui.rows(t)))
  end
  for _, o in ipairs(d.definitions or {}) do
    table.insert(lines, ('# %s %s: %s'):format(o.kind, o.name, o.change))
  end
  if d.catalogs and not d.definitions_known then
    table.insert(lines, '# system tables: their files differ; whether definitions do is not known')
  end
  for _, problem in ipairs(d.problems or {}) do
    table.insert(lines, '# ' .. ui.one(problem))
  end
  for _, f in ipairs(d.files or {}) do
    patch(lines, f)
  end
  return lines
end

-- changes shows what differs in the whole worktree, or between two checkpoints.
function M.changes(root, a, b)
  client.execute(root, 'diff', { a = a, b = b }, function(err, d)
    if err then
      return ui.fail(err)
    end
    require('forklift.view').open({ name = 'changes', root = root, lines = render(d), filetype = 'diff' })
  end)
end

return M
