-- The connection to `forklift lsp`: one client for each worktree, the same on
-- Neovim 0.10 and newer. Everything that the plugin knows comes from there.
local config = require('forklift.config')

local M = {}

---@class forklift.Error
---@field message string one line
---@field kind string of the closed set of Forklift's failures, or 'client' for ours
---@field hint string? a sentence: what can be done now
---@field items string[]? what it is about

local waiting = {} ---@type table<string, fun(client: table?, err: forklift.Error?)[]>

-- root is the top of the git worktree that a buffer belongs to: that of its
-- file, that a view of ours was made for, else that of the working directory.
---@param buf integer?
---@return string?
function M.root(buf)
  buf = (buf == nil or buf == 0) and vim.api.nvim_get_current_buf() or buf
  local known = vim.b[buf].forklift_root
  if known then
    return known
  end
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' or vim.bo[buf].buftype ~= '' or name:match('^%a[%w+.-]+://') then
    name = vim.fn.getcwd()
  end
  local root = vim.fs.root(name, '.git')
  return root and (vim.uv.fs_realpath(root) or root)
end

-- tracked says that a worktree was set up: its git directory has the record.
---@param root string
---@return boolean
function M.tracked(root)
  local git = vim.fs.joinpath(root, '.git')
  local stat = vim.uv.fs_stat(git)
  if stat and stat.type == 'file' then
    local file = io.open(git)
    local target = file and (file:read('*l') or ''):match('^gitdir: (.+)$')
    if file then
      file:close()
    end
    if not target then
      return false
    end
    git = target:match('^/') and target or vim.fs.joinpath(root, target)
  end
  return vim.uv.fs_stat(vim.fs.joinpath(git, 'forklift.json')) ~= nil
end

-- problem is an error of ours.
local function problem(message, hint)
  return { message = message, kind = 'client', hint = hint }
end

-- failure turns an error of the protocol into one of Forklift's.
---@return forklift.Error?
local function failure(err)
  if err == nil then
    return nil
  end
  local data = type(err) == 'table' and err.data or nil
  if type(data) == 'table' and data.message then
    return data
  end
  return problem(type(err) == 'table' and err.message or tostring(err))
end

-- commands are what code actions and lenses run: the same as :Forklift, with
-- its questions.
local function commands()
  local list = {}
  for _, verb in ipairs({ 'capture', 'restore', 'undo', 'redo', 'recover', 'trust', 'list' }) do
    list['forklift.server.' .. verb] = function(command, ctx)
      local client = ctx and vim.lsp.get_client_by_id(ctx.client_id)
      local root = client and client.config.root_dir or M.root()
      local args = vim.deepcopy((command.arguments or {})[1] or {})
      args.worktree = nil
      require('forklift.actions').perform(root, verb, args)
    end
  end
  return list
end

local function flush(root, client, err)
  local list = waiting[root] or {}
  waiting[root] = nil
  for _, callback in ipairs(list) do
    callback(client, err)
  end
end

-- server_config is the client's configuration without its root.
---@return table
function M.server_config()
  return {
    name = 'forklift',
    cmd = { config.get().binary, 'lsp' },
    commands = commands(),
    handlers = {
      ['forklift/status'] = function(_, status, ctx)
        local client = vim.lsp.get_client_by_id(ctx.client_id)
        if client then
          require('forklift.state').set(client.config.root_dir, status)
        end
      end,
      ['forklift/didRestore'] = function(_, change, ctx)
        local client = vim.lsp.get_client_by_id(ctx.client_id)
        if client then
          require('forklift.reload').restored(client.config.root_dir, change)
        end
      end,
    },
    on_init = function(client)
      -- What waits for this client is sent once Neovim has noted that it is there.
      vim.schedule(function()
        flush(client.config.root_dir, client)
      end)
    end,
    on_exit = function(code, _, id)
      vim.schedule(function()
        local client = vim.lsp.get_client_by_id(id)
        local root = client and client.config.root_dir
        for known in pairs(waiting) do
          if root == nil or known == root then
            flush(known, nil, problem('`forklift lsp` ended with code ' .. code, 'See :Forklift health.'))
          end
        end
        require('forklift.state').stopped()
      end)
    end,
  }
end

-- find is the client of a worktree, whoever started it.
---@return table?
function M.find(root)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'forklift' })) do
    local stopped = client.is_stopped
    if
      client.config.root_dir == root
      and not (vim.fn.has('nvim-0.11') == 1 and client:is_stopped() or vim.fn.has('nvim-0.11') == 0 and stopped())
    then
      return client
    end
  end
end

-- settings are those of the worktree's client: with what the user gave to
-- vim.lsp.config where that is.
local function settings(root)
  local own = M.server_config()
  local user = vim.fn.has('nvim-0.11') == 1 and vim.lsp.config.forklift or {}
  local all = vim.tbl_deep_extend('force', own, user or {})
  all.root_dir = root
  all.workspace_folders = { { uri = vim.uri_from_fname(root), name = root } }
  all.cmd_cwd = all.cmd_cwd or root
  return all
end

-- start starts the client of a worktree if there is none, and calls back with
-- it when it can be asked.
---@param root string
---@param callback fun(client: table?, err: forklift.Error?)
function M.start(root, callback)
  local client = M.find(root)
  if client and client.initialized and not waiting[root] then
    return callback(client)
  end
  if waiting[root] then
    table.insert(waiting[root], callback)
    return
  end
  local all = settings(root)
  if type(all.cmd) == 'table' and vim.fn.executable(all.cmd[1]) == 0 then
    return callback(
      nil,
      problem(
        ('the program "%s" was not found'):format(all.cmd[1]),
        'Put forklift on your PATH, or set vim.g.forklift = { binary = "/path/to/forklift" }.'
      )
    )
  end
  waiting[root] = { callback }
  if client then
    return
  end
  local id
  if vim.fn.has('nvim-0.11') == 1 then
    id = vim.lsp.start(all, { attach = false })
  else
    id = vim.lsp.start_client(all)
  end
  if not id then
    flush(root, nil, problem('`forklift lsp` could not be started', 'See :LspLog.'))
  end
end

-- attach lets the client of its worktree follow a buffer.
function M.attach(buf, root)
  M.start(root, function(client, err)
    if err then
      vim.notify_once('Forklift: ' .. err.message .. '. ' .. (err.hint or ''), vim.log.levels.WARN)
    elseif vim.api.nvim_buf_is_loaded(buf) and not vim.lsp.buf_is_attached(buf, client.id) then
      vim.lsp.buf_attach_client(buf, client.id)
      require('forklift.state').show(root, buf)
    end
  end)
end

-- auto_attach does so when the settings and the worktree are such.
function M.auto_attach(buf)
  local root = config.get().auto_attach and M.root(buf)
  if root and M.tracked(root) then
    M.attach(buf, root)
  end
end

-- attach_all attaches the loaded files of a worktree, after it was set up.
function M.attach_all(root)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= '' and M.root(buf) == root then
      M.attach(buf, root)
    end
  end
end

-- request asks the server of a worktree.
---@param root string
---@param method string
---@param params table
---@param callback fun(err: forklift.Error?, result: any)
function M.request(root, method, params, callback)
  M.start(root, function(client, err)
    if not client then
      return callback(err, nil)
    end
    local function answered(e, result)
      callback(failure(e), result)
    end
    local sent
    if vim.fn.has('nvim-0.11') == 1 then
      sent = client:request(method, params, answered)
    else
      sent = client.request(method, params, answered)
    end
    if not sent then
      callback(problem('the connection to `forklift lsp` is closed', 'Try again; :Forklift restart starts it anew.'), nil)
    end
  end)
end

-- request_sync asks and waits, for completion only; nil without a client or
-- an answer in time.
function M.request_sync(root, method, params, timeout)
  local client = M.find(root)
  if not client or not client.initialized then
    return nil
  end
  local reply
  if vim.fn.has('nvim-0.11') == 1 then
    reply = client:request_sync(method, params, timeout)
  else
    reply = client.request_sync(method, params, timeout)
  end
  return reply and reply.result
end

-- execute runs a verb with its inputs.
---@param root string
---@param verb string such as "capture" or "db_start"
---@param args table the inputs as `--json` names them
---@param callback fun(err: forklift.Error?, result: any)
function M.execute(root, verb, args, callback)
  local argument = vim.tbl_extend('force', args, { worktree = vim.uri_from_fname(root) })
  M.request(root, 'workspace/executeCommand', { command = 'forklift.server.' .. verb, arguments = { argument } }, callback)
end

-- restart ends all clients and starts those again that had files.
function M.restart()
  local roots = {}
  for _, client in ipairs(vim.lsp.get_clients({ name = 'forklift' })) do
    roots[client.config.root_dir] = true
    if vim.fn.has('nvim-0.11') == 1 then
      client:stop()
    else
      client.stop()
    end
  end
  -- A client that is stopping would be taken for one that is there.
  local tries = 0
  local function again()
    tries = tries + 1
    if #vim.lsp.get_clients({ name = 'forklift' }) > 0 and tries < 100 then
      return vim.defer_fn(again, 20)
    end
    for root in pairs(roots) do
      M.attach_all(root)
    end
  end
  again()
end

return M
