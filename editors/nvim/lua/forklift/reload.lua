-- Buffers after a restore: each file that was written is read again, with the
-- undo history, the cursor and the view of every window kept.
local ui = require('forklift.ui')
local unsaved = require('forklift.unsaved')

local M = {}

-- views are the windows that show a buffer, with what they show of it.
local function views(buf)
  local list = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    list[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  end
  return list
end

-- read reads a buffer's file again. With 'undoreload' below zero the old text
-- is always one step of the undo history.
local function read(buf)
  local kept = views(buf)
  local autoread = vim.bo[buf].autoread
  local undoreload = vim.o.undoreload
  vim.bo[buf].autoread, vim.o.undoreload = true, -1
  local ok, err = pcall(vim.cmd.checktime, buf)
  vim.o.undoreload = undoreload
  if autoread ~= vim.bo[buf].autoread then
    vim.bo[buf].autoread = autoread
  end
  for win, view in pairs(kept) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
  if not ok then
    ui.notify(tostring(err), vim.log.levels.WARN)
  end
end

-- restored takes forklift/didRestore in.
---@param root string
---@param change { verb: string, name: string, files: { path: string, change: string }[], file_count: integer }
function M.restored(root, change)
  local changed = {}
  for _, file in ipairs(change.files) do
    changed[file.path] = file.change
  end
  local all = change.file_count > #change.files -- so many that not all are named
  local gone, differ = {}, {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buf) and unsaved.inside(buf, root)
    local how = path and (changed[path] or all and 'modified')
    if how == 'removed' then
      table.insert(gone, path)
    elseif how and vim.bo[buf].modified then
      table.insert(differ, path)
    elseif how then
      read(buf)
    end
  end
  if #gone > 0 then
    ui.notify('Not in the checkpoint, and gone from disk: ' .. table.concat(gone, ', '), vim.log.levels.WARN)
  end
  if #differ > 0 then
    ui.notify(
      'Changed on disk by the restore, but your buffer is modified: '
        .. table.concat(differ, ', ')
        .. '. :edit! takes what is on disk, :write keeps yours.',
      vim.log.levels.WARN
    )
  end
  require('forklift.state').event('Restore', { root = root, restore = change })
end

return M
