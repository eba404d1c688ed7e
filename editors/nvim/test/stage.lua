-- What the stories share: repositories with a database, child Neovims, waiting,
-- and screenshots of the grid.
local test = require('mini.test')

local M = {}

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
M.plugin = vim.fs.dirname(here)
M.plugins = os.getenv('FORKLIFT_PLUGINS')
M.patience = 60000 -- ms; a busy machine is slow

local repositories = {}
local children = {}

-- sh runs a program and gives what it printed; a failure ends the story.
function M.sh(argv, opts)
  local result = vim.system(argv, vim.tbl_extend('force', { text = true }, opts or {})):wait(120000)
  if result.code ~= 0 then
    error(('%s: exit code %d\n%s%s'):format(table.concat(argv, ' '), result.code, result.stdout or '', result.stderr or ''))
  end
  return vim.trim(result.stdout)
end

-- write writes a file of a repository.
function M.write(root, name, text)
  local path = vim.fs.joinpath(root, name)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  vim.fn.writefile(vim.split((text:gsub('\n$', '')), '\n'), path)
end

function M.read(root, name)
  return table.concat(vim.fn.readfile(vim.fs.joinpath(root, name)), '\n')
end

-- repository makes a repository with one commit.
function M.repository(name, config)
  local root = vim.fs.joinpath(os.getenv('HOME'), name)
  M.write(root, 'src/app.txt', 'version 1\nsecond line\nthird line\n')
  M.write(root, 'src/other.txt', 'other 1\n')
  M.write(root, '.forklift.json', config or '{"format": 1, "source": ["src"]}')
  M.sh({ 'git', 'init', '-q' }, { cwd = root })
  M.sh({ 'git', 'add', '-A' }, { cwd = root })
  M.sh({ 'git', 'commit', '-q', '-m', 'first' }, { cwd = root })
  table.insert(repositories, root)
  return root
end

-- forklift runs the command line in a repository.
function M.forklift(root, ...)
  return M.sh({ 'forklift', ... }, { cwd = root })
end

function M.sql(root, text)
  return M.forklift(root, 'db', 'shell', '-c', text)
end

-- tracked makes a repository that is set up, with a table of one row, and
-- a checkpoint.
function M.tracked(name, config)
  local root = M.repository(name, config)
  M.forklift(root, 'setup', '--yes')
  M.forklift(root, 'db', 'start')
  M.sql(root, "CREATE TABLE notes (body text); INSERT INTO notes VALUES ('one')")
  M.forklift(root, 'capture', 'before', '--no-hooks')
  return root
end

-- child starts a Neovim in a repository with the plugin, and with a recorder of
-- what it tells and asks.
function M.child(root, file, more)
  local child = test.new_child_neovim()
  local args = {
    '--cmd',
    'set runtimepath^=' .. M.plugin,
    '--cmd',
    'cd ' .. root,
    '--cmd',
    'set laststatus=2 noruler shortmess+=F signcolumn=no',
    '--cmd',
    [[set statusline=%f\ %m%r%=%{get(b:,'forklift_status','')}]],
  }
  vim.list_extend(args, more or {})
  child.start(vim.list_extend(args, file and { vim.fs.joinpath(root, file) } or {}))
  table.insert(children, child)
  child.lua([[
    vim.diagnostic.config({ virtual_text = false }) -- 0.10 shows it, later versions do not
    _G.told, _G.asked, _G.answers, _G.events = {}, {}, {}, {}
    vim.notify = function(text, level) table.insert(told, text) end
    vim.ui.select = function(items, opts, done)
      local shown = vim.tbl_map(opts.format_item or tostring, items)
      table.insert(asked, { prompt = opts.prompt, kind = opts.kind, items = shown })
      local answer = table.remove(answers, 1)
      for i, text in ipairs(shown) do
        if answer and text:find(answer, 1, true) then
          return done(items[i], i)
        end
      end
      done(nil)
    end
    vim.api.nvim_create_autocmd('User', { pattern = 'Forklift*', callback = function(e) events[e.match] = (events[e.match] or 0) + 1 end })
  ]])
  return child
end

-- eventually waits until an expression of the child is true, and gives it.
function M.eventually(child, expression, patience)
  local value
  local ok = vim.wait(patience or M.patience, function()
    value = child.lua_get(expression)
    return value ~= nil and value ~= vim.NIL and value ~= false
  end, 20)
  if not ok then
    error(
      ('it did not happen: %s\nstatus: %s\ntold: %s\nasked: %s'):format(
        expression,
        vim.inspect(child.lua_get('vim.b.forklift_status')),
        vim.inspect(child.lua_get('told')),
        vim.inspect(child.lua_get('asked'))
      )
    )
  end
  return value
end

-- told waits until the child was told something.
function M.told(child, text)
  return M.eventually(child, ('vim.iter(told):find(function(t) return t:find(%q, 1, true) end)'):format(text))
end

-- shows waits until the statusline's text holds something.
function M.shows(child, text)
  return M.eventually(child, ('(vim.b.forklift_status or ""):find(%q, 1, true) and vim.b.forklift_status'):format(text))
end

-- normal makes one text of a screen: what differs from run to run is replaced.
local function normal(screen)
  local lines = {}
  for _, cells in ipairs(screen.text) do
    local line = table.concat(cells)
    line = line:gsub('%d+%.?%d* [KMGT]?B *', '# B '):gsub('%d+ minutes? ago', 'just now'):gsub('just now *', 'just now ')
    table.insert(lines, (line:gsub('%s+$', '')))
  end
  return lines
end

-- screen compares the child's grid with test/screens/NAME, which both versions
-- share.
function M.screen(child, name)
  local path = vim.fs.joinpath(here, 'screens', name .. '.txt')
  local want = vim.fn.filereadable(path) == 1 and vim.fn.readfile(path) or nil
  local seen
  local same = vim.wait(os.getenv('FORKLIFT_UPDATE') and 3000 or M.patience, function()
    child.cmd('redraw!')
    seen = normal(child.get_screenshot())
    return want ~= nil and vim.deep_equal(seen, want)
  end, 50)
  if os.getenv('FORKLIFT_UPDATE') and not same then
    vim.fn.mkdir(vim.fs.dirname(path), 'p')
    vim.fn.writefile(seen, path)
  elseif not same then
    error(('the screen is not %s:\n%s\nbut\n%s'):format(name, want and table.concat(want, '\n') or '(missing)', table.concat(seen, '\n')))
  end
end

-- clear ends what a story started.
function M.clear()
  for _, child in ipairs(children) do
    child.stop()
  end
  for _, root in ipairs(repositories) do
    vim.system({ 'forklift', 'recover' }, { cwd = root }):wait(30000)
    vim.system({ 'forklift', 'db', 'stop' }, { cwd = root }):wait(30000)
  end
  children, repositories = {}, {}
end

return M
