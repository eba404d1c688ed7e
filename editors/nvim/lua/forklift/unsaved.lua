-- Modified buffers: a capture saves what is on disk, and a restore writes to
-- the disk, so both ask first what to do about buffers that differ from it.
local config = require('forklift.config')
local ui = require('forklift.ui')

local M = {}

-- inside gives the path of a buffer's file in a worktree, nil for a buffer of
-- no file in it.
---@return string?
function M.inside(buf, root)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' or vim.bo[buf].buftype ~= '' then
    return nil
  end
  local dir = vim.uv.fs_realpath(vim.fs.dirname(name))
  local path = dir and vim.fs.joinpath(dir, vim.fs.basename(name)) or name
  if vim.startswith(path, root .. '/') then
    return path:sub(#root + 2)
  end
end

-- list gives the modified buffers of a worktree.
---@return { buf: integer, path: string }[]
function M.list(root)
  local list = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      local path = M.inside(buf, root)
      if path then
        table.insert(list, { buf = buf, path = path })
      end
    end
  end
  return list
end

-- save writes the buffers; false when one could not be written.
local function save(list)
  for _, item in ipairs(list) do
    local ok, err = pcall(vim.api.nvim_buf_call, item.buf, function()
      vim.cmd('silent write')
    end)
    if not ok then
      ui.notify(('%s could not be written: %s'):format(item.path, err), vim.log.levels.ERROR)
      return false
    end
  end
  return true
end

local function names(list)
  local paths = {}
  for i, item in ipairs(list) do
    if i > 3 then
      table.insert(paths, ('and %d more'):format(#list - 3))
      break
    end
    table.insert(paths, item.path)
  end
  return table.concat(paths, ', ')
end

-- resolve finds out what to do about the modified buffers of a worktree, and
-- calls back with what the request needs besides; not at all when the user
-- gives up.
---@param root string
---@param verb string
---@param way 'ask'|'save'|'disk'|'refuse'
---@param callback fun(more: table)
function M.resolve(root, verb, way, callback)
  local list = M.list(root)
  if #list == 0 then
    return callback({})
  end
  local refused = function()
    local items = vim.tbl_map(function(item)
      return item.path
    end, list)
    ui.fail({
      message = verb .. ': there are modified buffers',
      items = items,
      hint = 'Nothing was changed. Write them, or use ! to go on with what is on disk.',
    })
  end
  if way == 'disk' then
    return callback({ include_unsaved = 'disk' })
  elseif way == 'refuse' then
    return refused()
  elseif way == 'save' then
    return save(list) and callback({}) or nil
  end
  local write, disk = 'Write all, then ' .. verb, 'Go on with what is on disk'
  local prompt = ('%s not written (%s):'):format(#list == 1 and '1 buffer is' or #list .. ' buffers are', names(list))
  ui.choose({ write, disk, 'Cancel' }, prompt, 'unsaved', function(answer)
    if answer == write then
      if save(list) then
        callback({})
      end
    elseif answer == disk then
      callback({ include_unsaved = 'disk' })
    else
      refused()
    end
  end)
end

-- elsewhere asks about unsaved buffers of other editors, which the server
-- told of in an error; it calls back when the user wants to go on.
---@param err forklift.Error
function M.elsewhere(err, callback)
  if config.get().unsaved == 'refuse' then
    return ui.fail(err)
  end
  local disk = 'Go on with what is on disk'
  local prompt = ('%s (%s):'):format(err.message, table.concat(err.items or {}, ', '))
  ui.choose({ disk, 'Cancel' }, ui.one(prompt), 'unsaved', function(answer)
    if answer == disk then
      callback()
    else
      ui.fail(err)
    end
  end)
end

return M
