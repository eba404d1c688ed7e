-- The lines of README.md that install the plugin, run as they stand there.
local test = require('mini.test')
local stage = require('stage')

local eq = test.expect.equality
local T = test.new_set({ hooks = { post_case = stage.clear } })

-- block is code of a language in README.md behind a heading: the first one,
-- or the one with a number.
local function block(heading, language, number)
  local text = stage.read(stage.plugin, 'README.md')
  local from, code = assert(text:find('**' .. heading, 1, true), heading), nil
  for _ = 1, number or 1 do
    local _, begin = text:find('\n```' .. language .. '\n', from, true)
    from = assert(text:find('\n```\n', begin, true))
    code = text:sub(begin + 1, from)
  end
  return code
end

-- home makes a home directory, and a repository that has the plugin in its
-- folder, as that of Forklift has; it gives the home and the repository.
local function home(name, clone)
  local dir = vim.fs.joinpath(os.getenv('HOME'), name)
  local source = vim.fs.joinpath(dir, clone)
  vim.fn.mkdir(vim.fs.joinpath(source, 'editors'), 'p')
  stage.sh({ 'cp', '-R', stage.plugin, vim.fs.joinpath(source, 'editors', 'nvim') })
  vim.fn.delete(vim.fs.joinpath(source, 'editors', 'nvim', 'doc', 'tags'))
  stage.sh({ 'git', 'init', '-q' }, { cwd = source })
  stage.sh({ 'git', 'add', '-A' }, { cwd = source })
  stage.sh({ 'git', 'commit', '-q', '-m', 'all' }, { cwd = source })
  return dir, source
end

-- places has an own home, as a user's machine has it.
local function places(dir)
  return {
    HOME = dir,
    XDG_DATA_HOME = dir .. '/.local/share',
    XDG_STATE_HOME = dir .. '/.local/state',
    XDG_CACHE_HOME = dir .. '/.cache',
    XDG_CONFIG_HOME = dir .. '/.config',
  }
end

-- works starts Neovim with an init.lua, and looks whether all parts of the
-- plugin are there.
local function works(dir, init)
  stage.write(dir, '.config/nvim/init.lua', init)
  stage.write(
    dir,
    'check.lua',
    [[
    local ok, problem = pcall(function()
      assert(vim.fn.exists(':Forklift') == 2, 'the command')
      assert(vim.fn.maparg('<Plug>(forklift-capture)', 'n') ~= '', 'the maps')
      assert(#vim.api.nvim_get_runtime_file('lsp/forklift.lua', true) == 1, 'the configuration of the server')
      assert(require('forklift.config').get().unsaved == 'ask', 'the modules')
      assert(vim.tbl_contains(vim.fn.getcompletion('Forklift ca', 'cmdline'), 'capture'), 'completion')
      vim.cmd('help :Forklift-capture')
    end)
    vim.fn.writefile({ ok and 'all is there' or tostring(problem), vim.fn.execute('messages') }, 'checked')
    vim.cmd('qall!')
  ]]
  )
  stage.sh({ vim.v.progpath, '--headless', '-i', 'NONE', '-c', 'luafile check.lua' }, { cwd = dir, env = places(dir) })
  eq(vim.fn.readfile(dir .. '/checked')[1], 'all is there')
end

T['installed as a native package'] = function()
  local dir = home('native', 'src/forklift')
  local lines = block('Native packages', 'sh'):gsub('\nnvim ', '\n' .. vim.v.progpath .. ' --headless ')
  stage.sh({ 'sh', '-ec', lines }, { cwd = dir, env = places(dir) })
  works(dir, '')
end

T['installed by vim.pack'] = function()
  if vim.fn.has('nvim-0.12') == 0 then
    test.add_note('this version has no vim.pack')
    return
  end
  local dir, source = home('packed', 'origin')
  -- The first start installs it, the second one finds it.
  local init = 'vim.fn.confirm = function() return 1 end\n'
    .. block('vim.pack', 'lua'):gsub('REPOSITORY_URL', ('%q'):format('file://' .. source))
  works(dir, init)
  eq(vim.fn.isdirectory(dir .. '/.local/share/nvim/site/pack/core/opt/forklift.nvim/editors/nvim'), 1)
  works(dir, init)
end

T['installed by what lazy.nvim runs'] = function()
  local dir, source = home('lazy', 'origin')
  local spec = block('lazy.nvim', 'lua', 2):gsub('REPOSITORY_URL', ('%q'):format('file://' .. source))
  works(dir, ('local spec = %s\nspec.config({ dir = %q })'):format(spec, source))
end

T['installed by luarocks'] = function()
  local dir, source = home('rocks', 'origin')
  local plugin, rock = source .. '/editors/nvim', dir .. '/.luarocks/lib/luarocks/rocks-5.1/forklift/scm-1'
  vim.fn.mkdir(dir .. '/.luarocks/share/lua', 'p')
  vim.fn.mkdir(rock, 'p')
  stage.sh({ 'cp', '-R', plugin .. '/lua', dir .. '/.luarocks/share/lua/5.1' })
  local spec = stage.read(plugin, 'forklift-scm-1.rockspec')
  for name in assert(spec:match('copy_directories = (%b{})')):gmatch("'([^']+)'") do
    stage.sh({ 'cp', '-R', plugin .. '/' .. name, rock })
  end
  stage.sh({ vim.v.progpath, '--headless', '--clean', '-c', 'helptags ' .. rock .. '/doc', '-c', 'qall!' })
  works(dir, block('LuaRocks', 'lua'))
end

return T
