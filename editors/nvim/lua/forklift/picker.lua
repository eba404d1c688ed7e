-- Choosing a checkpoint, by vim.ui.select; the telescope extension and others
-- take their rows from here.
local client = require('forklift.client')
local config = require('forklift.config')
local ui = require('forklift.ui')

local M = {}

-- row completes a checkpoint with what it is called in requests (ref), and
-- how it is shown.
local function row(c, worktree)
  c.ref = c.worktree ~= worktree and (c.worktree .. ':' .. c.name) or c.name
  c.age = ui.ago(c.created)
  return c
end

-- fetch reads a page of checkpoints, the newest first.
---@param root string
---@param ask { all: boolean?, project: boolean?, limit: integer?, after: string? }
---@param callback fun(err: forklift.Error?, rows: table[]?, after: string?)
function M.fetch(root, ask, callback)
  local params = vim.tbl_extend('force', ask, { worktree = vim.uri_from_fname(root) })
  client.request(root, 'forklift/checkpoints', params, function(err, page)
    if err then
      return callback(err)
    end
    local rows = vim.tbl_map(function(c)
      return row(c, page.worktree)
    end, page.checkpoints)
    callback(nil, rows, page.next)
  end)
end

-- format is one checkpoint in one line.
---@return string
function M.format(c)
  local icons = config.get().icons
  local icon = c.current and icons.current or c.kind == 'capture' and icons.other or icons.safety
  local text = ('%s %s  %s, %s, %s'):format(icon, ui.pad(c.ref, 24), c.age, ui.plural(c.files, 'file'), ui.bytes(c.logical_bytes))
  return c.note and (text .. '  ' .. ui.one(c.note)) or text
end

-- names are those of the newest checkpoints, for completion. It waits a
-- moment at most.
---@return string[]
function M.names(root)
  local page = client.request_sync(root, 'forklift/checkpoints', { worktree = vim.uri_from_fname(root), project = true, limit = 200 }, 500)
  if not page then
    return {}
  end
  return vim.tbl_map(function(c)
    return row(c, page.worktree).ref
  end, page.checkpoints)
end

-- pick lets the user choose one of the worktree's checkpoints, or of the
-- project's with opts.project.
---@param root string?
---@param opts { prompt: string, project: boolean?, all: boolean? }
---@param callback fun(checkpoint: table)
function M.pick(root, opts, callback)
  if not root then
    return ui.fail({ message = 'this is in no git worktree', kind = 'client' })
  end
  M.fetch(root, { project = opts.project, all = opts.all, limit = 200 }, function(err, rows)
    if err then
      return ui.fail(err)
    end
    if #rows == 0 then
      return ui.notify('there is no checkpoint yet; :Forklift capture makes one')
    end
    vim.ui.select(rows, { prompt = opts.prompt, kind = 'forklift.checkpoint', format_item = M.format }, function(c)
      if c then
        callback(c)
      end
    end)
  end)
end

return M
