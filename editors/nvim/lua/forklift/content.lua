-- Files as they were at a checkpoint, in read-only buffers that are named
-- forklift:///path/of/the/file?checkpoint=NAME.
local client = require('forklift.client')
local ui = require('forklift.ui')

local M = {}

-- filling are the buffers that are being filled: to write to one loads it, and
-- that must not ask once more.
local filling = {} ---@type table<integer, true>

-- uri names a file at a checkpoint.
---@param path string absolute
---@param ref string
---@return string
function M.uri(path, ref)
  local name = vim.uri_from_fname(path):gsub('^file:', 'forklift:')
  return name .. '?checkpoint=' .. ref
end

-- parse is uri the other way round.
---@return string? path
---@return string? ref
function M.parse(uri)
  local path, ref = uri:match('^forklift:(///.*)%?checkpoint=(.+)$')
  if path then
    return vim.uri_to_fname('file:' .. path), ref
  end
end

-- read fills a buffer with the file that its name means; callback is told
-- when it is there.
---@param buf integer
---@param uri string
---@param callback fun(err: forklift.Error?)?
function M.read(buf, uri, callback)
  if filling[buf] then
    return
  end
  local path, ref = M.parse(uri)
  local root = path and vim.fs.root(vim.fs.dirname(path), '.git')
  if not root then
    return ui.fail({ message = uri .. ' names no file in a worktree', kind = 'client' })
  end
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].bufhidden = 'nofile', false, 'wipe'
  vim.b[buf].forklift_root = vim.uv.fs_realpath(root) or root
  vim.b[buf].forklift_checkpoint = ref
  filling[buf] = true
  client.request(vim.b[buf].forklift_root, 'forklift/content', { uri = uri }, function(err, answer)
    if not vim.api.nvim_buf_is_valid(buf) then
      filling[buf] = nil
      return
    end
    if err and not callback then
      ui.fail(err)
    elseif not err then
      local lines = vim.split(answer.text, '\n')
      if lines[#lines] == '' then
        table.remove(lines)
      end
      vim.fn.bufload(buf)
      vim.bo[buf].modifiable, vim.bo[buf].readonly = true, false
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
      vim.bo[buf].modifiable, vim.bo[buf].modified, vim.bo[buf].readonly = false, false, true
      local filetype = vim.filetype.match({ filename = path, contents = lines })
      if filetype then
        vim.bo[buf].filetype = filetype
      end
    end
    filling[buf] = nil
    if callback then
      callback(err)
    end
  end)
end

-- load gives the buffer of a file at a checkpoint when it is filled.
---@param callback fun(err: forklift.Error?, buf: integer?)
function M.load(path, ref, callback)
  local uri = M.uri(path, ref)
  local buf = vim.fn.bufadd(uri)
  M.read(buf, uri, function(err)
    if err then
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
    end
    callback(err, not err and buf or nil)
  end)
end

return M
