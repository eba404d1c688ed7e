-- :checkhealth forklift
local client = require('forklift.client')
local config = require('forklift.config')

local M = {}

-- run runs a program and waits a little.
local function run(argv, cwd)
  local ok, process = pcall(vim.system, argv, { text = true, cwd = cwd })
  if not ok then
    return nil
  end
  local result = process:wait(10000)
  return result.code == 0 and vim.trim(result.stdout) or nil, vim.trim((result.stderr or '') .. (result.stdout or ''))
end

local function neovim()
  vim.health.start('forklift: Neovim and settings')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim 0.10 or newer is needed')
  end
  local problems = config.problems()
  for _, problem in ipairs(problems) do
    vim.health.warn(problem, 'See :help forklift-settings.')
  end
  if #problems == 0 then
    vim.health.ok('the settings are right')
  end
  if vim.fn.exists(':Forklift') ~= 2 then
    vim.health.error('there is no :Forklift', "plugin/forklift.lua was not loaded: is the plugin's folder in 'runtimepath'?")
  end
  local reloaders = vim.api.nvim_get_autocmds({ event = 'FileChangedShell' })
  if #reloaders > 0 then
    vim.health.warn(
      'an autocommand of FileChangedShell decides about files that changed on disk: ' .. (reloaders[1].group_name or 'without a group'),
      'After a restore it is asked instead of reading the files again.'
    )
  end
end

local function program()
  vim.health.start('forklift: program')
  local binary = config.get().binary
  if vim.fn.executable(binary) == 0 then
    vim.health.error(
      ('the program "%s" was not found'):format(binary),
      'Put forklift on your PATH, or set vim.g.forklift = { binary = "/path/to/forklift" }.'
    )
    return false
  end
  local version, text = run({ binary, 'version' })
  if not version then
    vim.health.error(vim.fn.exepath(binary) .. ' does not run: ' .. (text or ''))
    return false
  end
  vim.health.ok(('%s: %s'):format(vim.fn.exepath(binary), version:match('[^\n]*')))
  local git = run({ 'git', '--version' })
  if git then
    vim.health.ok(git)
  else
    vim.health.error('git was not found', 'Forklift works in git worktrees.')
  end
  return true
end

local function daemon()
  vim.health.start('forklift: daemon')
  local out, text = run({ config.get().binary, 'daemon', 'status', '--json' })
  local ok, status = pcall(vim.json.decode, out or '')
  if not ok then
    return vim.health.error('`forklift daemon status` failed: ' .. (text or ''))
  end
  local stat = status.socket and vim.uv.fs_stat(vim.fs.dirname(status.socket))
  if stat and stat.mode % 64 ~= 0 then
    vim.health.error(vim.fs.dirname(status.socket) .. ' is open to other users', 'Forklift refuses such a place; remove what made it so.')
  end
  if status.running then
    vim.health.ok(('it runs as process %d, version %s'):format(status.daemon.pid, tostring(status.daemon.version or '?')))
  else
    vim.health.info('it does not run; the first file of a worktree that is set up starts it')
  end
  for _, c in ipairs(vim.lsp.get_clients({ name = 'forklift' })) do
    local info = c.server_info or {}
    vim.health.ok(('connected for %s%s'):format(c.config.root_dir, info.version and ', version ' .. info.version or ''))
    local offered = c.server_capabilities and c.server_capabilities.executeCommandProvider
    if not (offered and vim.tbl_contains(offered.commands or {}, 'forklift.server.restore')) then
      vim.health.error(
        'its version does not know what this plugin asks for',
        'Install plugin and program of the same version, then :Forklift restart.'
      )
    end
  end
end

local function worktree()
  vim.health.start('forklift: this worktree')
  -- The report is in a buffer of its own: the one before it is meant.
  local buf = vim.fn.bufnr('#')
  local root = client.root(buf > 0 and vim.api.nvim_buf_is_valid(buf) and buf or 0)
  if not root then
    return vim.health.info('the working directory is in no git worktree')
  end
  if not client.tracked(root) then
    return vim.health.info(root .. ' is not set up; :Forklift setup gives it a database of its own')
  end
  local out, text = run({ config.get().binary, 'doctor', '--json' }, root)
  local ok, result = pcall(vim.json.decode, out or text or '')
  if not ok or type(result.checks) ~= 'table' then
    return vim.health.error('`forklift doctor` failed: ' .. (text or ''))
  end
  vim.health.ok(root .. ' is set up')
  for _, c in ipairs(result.checks) do
    local line = ('%s: %s'):format(c.id, c.found)
    if c.verdict == 'problem' then
      vim.health.error(line, c['do'])
    elseif c.verdict == 'warning' then
      vim.health.warn(line, c['do'])
    end
  end
  vim.health.info('`forklift doctor` tells more')
end

-- check is what :checkhealth calls.
function M.check()
  neovim()
  if program() then
    daemon()
    worktree()
  end
end

return M
