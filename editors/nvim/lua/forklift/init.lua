-- The functions that a configuration calls. The plugin works without setup().
--
--   require('forklift').statusline()        the text for a statusline, or ''
--   require('forklift').capture{ name = }   as :Forklift capture
--   require('forklift').restore{ ref = }    as :Forklift restore
local M = {}

-- setup overrides the defaults and vim.g.forklift; see |forklift-settings|.
---@param settings forklift.Config?
function M.setup(settings)
  require('forklift.config').set(settings or {})
end

-- statusline is the text of the current buffer's worktree, '' where there is
-- nothing to tell. It reads what is known and asks nobody.
---@return string
function M.statusline()
  return vim.b.forklift_status or ''
end

-- status is the last status of a worktree, exactly as `forklift status --json`
-- prints it; nil when it is not known.
---@param buf integer? of the worktree; the current buffer without it
---@return table?
function M.status(buf)
  local root = require('forklift.client').root(buf)
  return root and require('forklift.state').get(root)
end

for _, name in ipairs({ 'capture', 'restore', 'undo', 'redo', 'recover' }) do
  -- Each takes the inputs of its verb, and a callback(err, result).
  M[name] = function(args, callback)
    local root = require('forklift.client').root()
    require('forklift.actions').perform(root, name, args or {}, { done = callback })
  end
end

-- timeline opens the timeline of the current buffer's worktree.
function M.timeline()
  require('forklift.command').execute('timeline')
end

-- pick lets the user choose a checkpoint and calls back with it.
---@param callback fun(checkpoint: table)
function M.pick(callback)
  require('forklift.picker').pick(require('forklift.client').root(), { prompt = 'Checkpoint' }, callback)
end

return M
