-- What holds without a database: startup, settings, help, health, completion.
local test = require('mini.test')
local stage = require('stage')

local eq = test.expect.equality
local T = test.new_set({ hooks = { post_case = stage.clear } })

-- startup is how long sourcing the plugin took, in ms, by --startuptime.
local function startup()
  local file = vim.fn.tempname()
  stage.sh({ vim.v.progpath, '--clean', '--headless', '--startuptime', file, '--cmd', 'set runtimepath^=' .. stage.plugin, '+qall' })
  for _, line in ipairs(vim.fn.readfile(file)) do
    local own = line:match('^[%d.]+%s+([%d.]+)%s+[%d.]+: sourcing .*/plugin/forklift.lua')
    if own then
      return tonumber(own)
    end
  end
  error('the plugin was not sourced')
end

T['starting costs less than a millisecond'] = function()
  local best = math.huge
  for _ = 1, 10 do
    best = math.min(best, startup())
  end
  test.add_note(('sourcing plugin/forklift.lua: %.2f ms'):format(best))
  eq(best < 1, true)
end

T['nothing is loaded before the first use'] = function()
  local root = stage.repository('idle')
  local child = stage.child(root)
  eq(child.lua_get([[vim.tbl_filter(function(name) return name:find('^forklift') end, vim.tbl_keys(package.loaded))]]), {})
  eq(child.fn.exists(':Forklift'), 2)
  eq(child.fn.maparg('<Plug>(forklift-capture)', 'n') ~= '', true)
  eq(
    child.lua_get(
      [[vim.tbl_filter(function(m) return m.lhs:sub(1, 6) ~= '<Plug>' and (m.desc or ''):find('Forklift') end, vim.api.nvim_get_keymap('n'))]]
    ),
    {}
  )
  -- A repository that is not set up gets no server.
  child.cmd('edit src/app.txt')
  eq(child.lua_get('#vim.lsp.get_clients()'), 0)
end

T['completion'] = function()
  local child = stage.child(stage.repository('words'))
  eq(child.fn.getcompletion('Forklift ca', 'cmdline'), { 'capture', 'cat' })
  eq(child.fn.getcompletion('Forklift recover -', 'cmdline'), { '--back' })
  eq(child.fn.getcompletion('Forklift! restore x', 'cmdline'), {})
  child.cmd('Forklift nonsense')
  eq(child.lua_get('told[1]'):match('^[^\n]*'), 'there is no :Forklift nonsense')
end

T['settings'] = function()
  local child = stage.child(stage.repository('settings'))
  child.lua([[vim.g.forklift = { binary = 'not-there', unsaved = 'sometimes', colour = 'red' }]])
  eq(child.lua_get([[require('forklift.config').get().binary]]), 'not-there')
  eq(child.lua_get([[require('forklift.config').get().unsaved]]), 'ask')
  local problems = table.concat(child.lua_get([[require('forklift.config').problems()]]), '\n')
  eq(problems:find('there is no setting "colour"', 1, true) ~= nil, true)
  eq(problems:find('unsaved: expected ask, save, disk or refuse', 1, true) ~= nil, true)
  child.lua([[require('forklift').setup({ unsaved = 'save' })]])
  eq(child.lua_get([[require('forklift.config').get().unsaved]]), 'save')
  child.cmd('Forklift capture')
  stage.told(child, 'the program "not-there" was not found')
end

T['help has a tag for everything'] = function()
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir, 'p')
  stage.sh({ 'cp', stage.plugin .. '/doc/forklift.txt', dir })
  vim.cmd.helptags(dir)
  local tags = table.concat(vim.fn.readfile(dir .. '/tags'), '\n')
  local child = stage.child(stage.repository('helped'))
  for _, name in ipairs(child.lua_get([[vim.tbl_keys(require('forklift.command').subcommands)]])) do
    eq({ name, tags:find(':Forklift-' .. name .. '\t', 1, true) ~= nil }, { name, true })
  end
  for _, name in ipairs(child.lua_get([[vim.tbl_keys(require('forklift.config').defaults)]])) do
    eq({ name, tags:find('forklift-setting-' .. name .. '\t', 1, true) ~= nil }, { name, true })
  end
  for _, line in ipairs(vim.fn.readfile(stage.plugin .. '/doc/forklift.txt')) do
    eq({ line, vim.fn.strdisplaywidth(line) <= 79 }, { line, true })
  end
end

T['health'] = function()
  local root = stage.tracked('healthy')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  stage.write(root, '.env', 'DATABASE_URL=postgres://localhost/elsewhere\n')
  child.cmd('Forklift health')
  local text = table.concat(child.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  for _, part in ipairs({
    'the settings are right',
    '/forklift: ',
    'git version',
    'it runs as process',
    'connected for ' .. root,
    root .. ' is set up',
    '.env',
  }) do
    eq({ part, text:find(part, 1, true) ~= nil, text }, { part, true, text })
  end
  eq({ text:find('ERROR', 1, true), text }, { nil, text })
end

T['the server as vim.lsp.enable starts it'] = function()
  local root = stage.tracked('enabled')
  local child = stage.child(root, nil, { '--cmd', 'let g:forklift = {"auto_attach": v:false}' })
  if child.fn.has('nvim-0.11') == 0 then
    test.add_note('this version has no vim.lsp.enable: the plugin starts the server itself')
    child.lua('vim.g.forklift = {}')
  else
    child.lua([[vim.lsp.enable('forklift')]])
  end
  child.cmd('edit src/app.txt')
  stage.shows(child, 'before')
  eq(child.lua_get([[#vim.lsp.get_clients({ name = 'forklift' })]]), 1)
  child.cmd('Forklift capture once')
  stage.told(child, 'captured "once"')
  eq(child.lua_get([[#vim.lsp.get_clients({ name = 'forklift' })]]), 1)
end

T['progress, and how long a capture takes'] = function()
  local root = stage.tracked('quick')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.lua([[
    _G.progress = {}
    vim.api.nvim_create_autocmd('LspProgress', { callback = function(e)
      local value = e.data.params and e.data.params.value or (e.data.result or {}).value
      table.insert(progress, value.kind)
    end })
    vim.notify = function(text) _G.took = (vim.uv.hrtime() - _G.from) / 1e6; table.insert(told, text) end
  ]])
  local best = math.huge
  for i = 1, 3 do
    child.lua('_G.from = vim.uv.hrtime()')
    child.cmd('Forklift capture timed-' .. i)
    stage.told(child, ('captured "timed-%d"'):format(i))
    best = math.min(best, child.lua_get('took'))
  end
  test.add_note(('from :Forklift capture to "captured": %.0f ms'):format(best))
  local kinds = child.lua_get('progress')
  eq({ kinds[1], kinds[#kinds] }, { 'begin', 'end' })
  eq(best < 5000, true)
end

T['a code action asks the same questions'] = function()
  local root = stage.tracked('acted')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.api.nvim_buf_set_lines(0, 0, 1, false, { 'not written' })
  child.lua([[vim.lsp.buf.code_action({ apply = true, filter = function(a) return a.title == 'Forklift: capture a checkpoint' end })]])
  stage.told(child, 'capture: there are modified buffers')
end

return T
