-- The last status of each worktree, and what shows it: buffer and global
-- variables, the statusline, and the event User ForkliftUpdate.
local config = require('forklift.config')

local M = {}

local statuses = {} ---@type table<string, table>
local told = {} ---@type table<string, string> interruptions that the user was told of

-- event runs the autocommands User ForkliftNAME with data.
function M.event(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = 'Forklift' .. name, modeline = false, data = data })
end

local function count(n, what)
  return n == 1 and ('1 ' .. what) or (n .. ' ' .. what .. 's')
end

-- text is what a statusline shows of a status.
---@return string
function M.text(status)
  local settings = config.get()
  if type(settings.statusline) == 'function' then
    return settings.statusline(status)
  end
  local icons = settings.icons
  local parts
  if not status.tracked then
    parts = { 'not tracked' }
  elseif status.interrupted then
    parts = { status.interrupted.verb .. ' interrupted' }
  elseif status.operation then
    parts = { status.operation.verb .. '…' }
  else
    parts = { status.checkpoint and status.checkpoint.name or 'no checkpoint' }
    if (status.file_count or 0) > 0 then
      table.insert(parts, count(status.file_count, 'file'))
    end
    if (status.row_count or 0) > 0 then
      table.insert(parts, count(status.row_count, 'row'))
    end
  end
  if status.tracked and status.trusted == false then
    table.insert(parts, 'untrusted')
  end
  return icons.fork .. ' ' .. table.concat(parts, icons.separator)
end

-- summary is what b:forklift_status_dict holds.
local function summary(root, status)
  return {
    root = root,
    worktree = status.worktree and status.worktree.name or '',
    checkpoint = status.checkpoint and status.checkpoint.name or '',
    files = status.file_count or 0,
    rows = status.row_count or 0,
    state = status.icon or '',
    tracked = status.tracked == true,
    trusted = status.trusted ~= false,
    interrupted = status.interrupted ~= nil,
  }
end

local function buffers(root)
  local client = require('forklift.client').find(root)
  return client and vim.tbl_keys(client.attached_buffers) or {}
end

-- show sets the variables of one buffer.
function M.show(root, buf)
  local status = statuses[root]
  if not status or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  vim.b[buf].forklift_status = M.text(status)
  vim.b[buf].forklift_status_dict = summary(root, status)
end

-- head sets g:forklift_head: the checkpoint of the current buffer's worktree.
local function head()
  local status = statuses[require('forklift.client').root() or '']
  vim.g.forklift_head = status and status.checkpoint and status.checkpoint.name or ''
end

-- interrupted tells once that there is something to recover.
local function interrupted(root, status)
  local key = status.interrupted and (status.interrupted.verb .. status.interrupted.since) or nil
  if key and told[root] ~= key then
    config.get().notify(
      ('A %s of %s was interrupted. :Forklift recover %s.'):format(
        status.interrupted.verb,
        status.interrupted.target,
        status.interrupted.forward and 'finishes it' or 'takes it back'
      ),
      vim.log.levels.WARN,
      { title = 'Forklift' }
    )
  end
  told[root] = key
end

-- set takes a new status in.
function M.set(root, status)
  statuses[root] = status
  for _, buf in ipairs(buffers(root)) do
    M.show(root, buf)
  end
  head()
  if status.tracked then
    interrupted(root, status)
  end
  M.event('Update', { root = root, status = status })
  vim.cmd.redrawstatus({ bang = true })
end

-- get is the last status of a worktree, nil before the first.
function M.get(root)
  return statuses[root]
end

-- stopped forgets the statuses of worktrees that have no client any more.
function M.stopped()
  local client = require('forklift.client')
  for root in pairs(statuses) do
    if not client.find(root) then
      statuses[root] = nil
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        local dict = vim.b[buf].forklift_status_dict
        if dict and dict.root == root then
          vim.b[buf].forklift_status, vim.b[buf].forklift_status_dict = nil, nil
        end
      end
    end
  end
  head()
end

vim.api.nvim_create_autocmd('BufEnter', {
  group = vim.api.nvim_create_augroup('forklift.state', {}),
  callback = head,
})

return M
