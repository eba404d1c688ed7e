-- The subcommands that the stories do not come by.
local test = require('mini.test')
local stage = require('stage')

local eq = test.expect.equality
local T = test.new_set({ hooks = { post_case = stage.clear } })

-- reads waits until the current buffer holds a text.
local function reads(child, text)
  stage.eventually(child, ('vim.fn.search(%q, "nw") > 0'):format('\\V' .. text))
end

-- ended waits until the program of the current terminal has ended well, and closes it.
local function ended(child)
  stage.eventually(child, 'codes[1] ~= nil')
  eq(child.lua_get('table.remove(codes)'), 0)
  child.cmd('stopinsert | bwipeout!')
end

T['every subcommand is run by a test'] = function()
  local told = {}
  for _, file in ipairs(vim.fn.globpath(stage.plugin .. '/test', 'test_*.lua', true, true)) do
    vim.list_extend(told, vim.fn.readfile(file))
  end
  local text = table.concat(told, '\n')
  for _, name in ipairs(stage.child(stage.repository('all')).lua_get([[vim.tbl_keys(require('forklift.command').subcommands)]])) do
    eq({ name, text:find('Forklift!? ' .. name .. '%f[^%w]') ~= nil }, { name, true })
  end
end

T['looking: status, show, log, list, url and menu'] = function()
  local root = stage.tracked('looked')
  local child = stage.child(root, 'src/app.txt')
  stage.write(root, 'src/app.txt', 'version 2\n')
  stage.shows(child, 'before · 1 file')
  child.cmd('Forklift status')
  reads(child, 'modified  src/app.txt')
  child.type_keys('q')
  child.cmd('Forklift show before')
  reads(child, 'Checkpoint before')
  child.type_keys('q')
  child.cmd('Forklift log')
  reads(child, 'Operations of looked')
  reads(child, 'capture')
  child.type_keys('q')
  child.cmd('Forklift list')
  reads(child, 'Checkpoints of looked')
  child.type_keys('q')
  child.cmd('Forklift url')
  stage.told(child, "the database's URL is in the register")
  eq(child.fn.getreg('"'), stage.forklift(root, 'db', 'url'))
  child.lua('answers = { "status " }')
  child.cmd('Forklift menu')
  reads(child, 'Worktree looked')
  local menu = child.lua_get('asked[#asked]')
  eq({ menu.kind, menu.items[1] }, { 'forklift.menu', 'capture   save the files and the database: [NAME] [-m NOTE]' })
end

T['records: note, rename, protect, unprotect, prune and trust'] = function()
  local root = stage.tracked('kept')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.cmd('Forklift note before all is well')
  stage.told(child, 'noted at before')
  child.cmd('Forklift rename before first')
  stage.told(child, 'renamed to first')
  child.cmd('Forklift protect first')
  stage.told(child, 'protected: first')
  child.cmd('Forklift show first')
  reads(child, 'all is well')
  reads(child, 'protected')
  child.type_keys('q')
  child.cmd('Forklift unprotect first')
  stage.told(child, 'not protected any more: first')
  child.lua('answers = { "Do it" }')
  child.cmd('Forklift prune')
  stage.told(child, 'prune: ')
  child.cmd('Forklift trust')
  stage.told(child, '.forklift.json is approved in this worktree')
end

T['programs: shell, cli, logs, start, stop, restart and help'] = function()
  local root = stage.tracked('served')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.lua([[
    _G.codes = {}
    vim.api.nvim_create_autocmd('TermClose', { callback = function() table.insert(codes, vim.v.event.status) end })
  ]])
  child.cmd('Forklift shell')
  stage.eventually(child, [[vim.fn.search('=[>#]', 'nw') > 0]])
  child.lua([[vim.fn.chansend(vim.b.terminal_job_id, "SELECT 'rows: ' || count(*) FROM notes;\n")]])
  reads(child, 'rows: 1')
  child.lua([[vim.fn.chansend(vim.b.terminal_job_id, "\\q\n")]])
  ended(child)
  child.cmd('Forklift cli list')
  reads(child, 'before')
  ended(child)
  child.cmd('Forklift logs')
  ended(child)
  child.cmd('Forklift stop')
  stage.told(child, 'the server is stopped')
  child.cmd('Forklift start')
  stage.told(child, 'the server runs until :Forklift stop')
  local id = child.lua_get([[vim.lsp.get_clients({ name = 'forklift' })[1].id]])
  child.cmd('Forklift restart')
  stage.eventually(child, ([[(vim.lsp.get_clients({ name = 'forklift' })[1] or { id = %d }).id ~= %d]]):format(id, id))
  child.cmd('Forklift capture after')
  stage.told(child, 'captured "after"')

  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir .. '/doc', 'p')
  stage.sh({ 'cp', stage.plugin .. '/doc/forklift.txt', dir .. '/doc' })
  vim.cmd.helptags(dir .. '/doc')
  child.cmd('set runtimepath^=' .. dir)
  child.cmd('Forklift help')
  eq({ child.bo.buftype, child.fn.expand('%:t') }, { 'help', 'forklift.txt' })
end

return T
