-- Commands of the command line in a terminal window: what needs a terminal,
-- and what has no view here.
local config = require('forklift.config')
local ui = require('forklift.ui')

local M = {}

-- open runs `forklift ARGS...` in a terminal below, in the worktree.
---@param root string
---@param args string[]
function M.open(root, args)
  local binary = config.get().binary
  if vim.fn.executable(binary) == 0 then
    return ui.fail({ message = ('the program "%s" was not found'):format(binary), kind = 'client' })
  end
  vim.cmd('botright new')
  vim.b.forklift_root = root
  local argv = vim.list_extend({ binary }, args)
  if vim.fn.has('nvim-0.11') == 1 then
    vim.fn.jobstart(argv, { term = true, cwd = root })
  else
    vim.fn.termopen(argv, { cwd = root })
  end
  vim.cmd.startinsert()
end

return M
