-- The stories of a user, each in a repository of its own.
local test = require('mini.test')
local stage = require('stage')

local eq = test.expect.equality
local T = test.new_set({ hooks = { post_case = stage.clear } })

T['set up a worktree, capture, change, restore through the picker, undo'] = function()
  local root = stage.repository('shop')
  local child = stage.child(root, 'src/app.txt')
  eq(child.lua_get('vim.b.forklift_status'), vim.NIL)

  child.cmd('Forklift setup')
  stage.told(child, 'set up the worktree shop')
  stage.shows(child, 'no checkpoint')
  stage.forklift(root, 'db', 'start')
  stage.sql(root, "CREATE TABLE notes (body text); INSERT INTO notes VALUES ('one')")

  child.cmd('Forklift capture before -m the first one')
  stage.told(child, 'captured "before"')
  eq(stage.shows(child, '⎇ before'), '⎇ before')
  eq(child.lua_get('vim.g.forklift_head'), 'before')
  eq(child.lua_get('events.ForkliftCapture'), 1)

  child.api.nvim_buf_set_lines(0, 0, 1, false, { 'version 2' })
  child.cmd('silent write')
  stage.sql(root, "INSERT INTO notes VALUES ('two'), ('three'); CREATE VIEW short AS SELECT body FROM notes WHERE length(body) < 4")
  stage.shows(child, '⎇ before · 1 file · 2 rows')
  eq(
    child.lua_get('{ vim.b.forklift_status_dict.files, vim.b.forklift_status_dict.rows, vim.b.forklift_status_dict.state }'),
    { 1, 2, 'changed' }
  )

  child.cmd('normal! 3G')
  child.lua('answers = { "before", "Restore" }')
  child.cmd('Forklift restore')
  stage.told(child, 'restored "before"')
  stage.eventually(child, 'vim.fn.getline(1) == "version 1"')
  local asked = child.lua_get('asked')
  eq({ asked[1].kind, asked[2].kind }, { 'forklift.checkpoint', 'forklift.confirm' })
  local overwrites = 'Restore "before"? 1 file written, 0 removed; the database is put back (notes -2, view short dropped).'
  eq(asked[2].prompt:sub(1, #overwrites), overwrites)
  eq(stage.sql(root, 'SELECT count(*) FROM notes'):match('\n%s*(%d+)'), '1')
  -- The cursor and the undo history are still there, and nothing is modified.
  eq(child.fn.line('.'), 3)
  eq(child.bo.modified, false)
  eq(child.lua_get('events.ForkliftRestore'), 1)

  child.cmd('Forklift undo')
  stage.told(child, 'undone')
  stage.eventually(child, 'vim.fn.getline(1) == "version 2"')
  eq(stage.sql(root, 'SELECT count(*) FROM notes'):match('\n%s*(%d+)'), '3')
  child.cmd('Forklift redo')
  stage.told(child, 'redone')
  stage.eventually(child, 'vim.fn.getline(1) == "version 1"')

  child.cmd('normal! u')
  eq(child.fn.getline(1), 'version 2')
  child.cmd('normal! uu')
  eq(child.fn.getline(1), 'version 2')
end

T['a buffer that is not written is asked about, and refused'] = function()
  local root = stage.tracked('unwritten')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.api.nvim_buf_set_lines(0, 0, 1, false, { 'not written' })

  child.cmd('Forklift capture refused')
  stage.told(child, 'capture: there are modified buffers\n  src/app.txt')
  eq(child.lua_get('asked[1].items'), { 'Write all, then capture', 'Go on with what is on disk', 'Cancel' })
  eq(stage.forklift(root, 'list'):find('refused'), nil)

  child.lua('answers = { "what is on disk" }')
  child.cmd('Forklift capture disk')
  stage.told(child, 'captured "disk"')
  eq(stage.forklift(root, 'cat', 'disk:src/app.txt'):match('^[^\n]*'), 'version 1')

  child.lua('answers = { "Write all" }')
  child.cmd('Forklift capture written')
  stage.told(child, 'captured "written"')
  eq(stage.forklift(root, 'cat', 'written:src/app.txt'):match('^[^\n]*'), 'not written')

  -- What another program restores does not touch a modified buffer.
  child.api.nvim_buf_set_lines(0, 0, 1, false, { 'mine' })
  stage.forklift(root, 'restore', 'before', '--include-unsaved', 'disk')
  stage.told(child, 'Changed on disk by the restore, but your buffer is modified: src/app.txt')
  eq(child.fn.getline(1), 'mine')
end

T['recover after a restore that was killed'] = function()
  local root = stage.tracked('killed')
  local child = stage.child(root, 'src/app.txt')
  child.api.nvim_buf_set_lines(0, 0, 1, false, { 'version 2' })
  child.cmd('silent write')
  stage.sql(root, "UPDATE notes SET body = 'two'")
  stage.shows(child, '1 file')
  local result = vim
    .system({ 'forklift', 'restore', 'before' }, { cwd = root, text = true, env = { FORKLIFT_FAILPOINT_KILL = 'current.json' } })
    :wait(60000)
  eq({ result.signal, result.stderr }, { 9, '' })

  stage.shows(child, '⎇ restore interrupted')
  stage.told(child, 'A restore of before was interrupted. :Forklift recover')
  child.lua('answers = { "Cancel" }')
  child.cmd('Forklift capture now')
  stage.eventually(child, '#asked == 1')
  eq(child.lua_get('asked[1].kind'), 'forklift.recover')
  stage.screen(child, 'interrupted')
  child.cmd('Forklift recover')
  local text = stage.told(child, 'the interrupted restore is ')
  stage.shows(child, 'before')
  local finished = text:find('finished') ~= nil
  eq(stage.read(root, 'src/app.txt'):match('^[^\n]*'), finished and 'version 1' or 'version 2')
  eq(stage.sql(root, 'SELECT body FROM notes'):match('\n%s*(%a+)'), finished and 'one' or 'two')
end

T['two Neovims on two worktrees'] = function()
  local root = stage.tracked('pair')
  local second = vim.fs.joinpath(os.getenv('HOME'), 'pair-second')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.cmd('Forklift worktree ' .. second .. ' --from before')
  stage.told(child, 'made the worktree pair-second')
  local other = stage.child(second, 'src/app.txt')
  stage.shows(other, '⎇')
  stage.write(root, 'src/app.txt', 'changed here only\n')
  stage.shows(child, 'before · 1 file')
  eq(other.lua_get('vim.b.forklift_status_dict.files'), 0)
  other.cmd('Forklift capture theirs')
  stage.told(other, 'captured "theirs"')
  stage.shows(other, 'theirs')
  eq(child.lua_get('vim.g.forklift_head'), 'before')
  -- A checkpoint of the other worktree is called WORKTREE:NAME.
  eq(vim.tbl_contains(child.lua_get('vim.fn.getcompletion("Forklift restore pair-", "cmdline")'), 'pair-second:theirs'), true)
  stage.forklift(second, 'db', 'stop')
end

T['a configuration that is not approved'] = function()
  local root = stage.tracked(
    'strange',
    '{"format": 1, "source": ["src"], "commands": {"verify": ["sh", "-c", "echo ran > ran.txt"]},'
      .. ' "hooks": {"stop": ["sh", "-c", "echo stopped > stopped.txt"]}}'
  )
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, '⎇ before · untrusted')
  child.cmd('Forklift capture refused')
  stage.told(child, 'not approved; nothing of .forklift.json is run')
  eq(child.lua_get('asked[1].kind'), 'forklift.trust')
  child.cmd('Forklift run verify')
  stage.eventually(child, '#asked == 2')
  eq(vim.uv.fs_stat(root .. '/ran.txt'), nil)
  eq(vim.uv.fs_stat(root .. '/stopped.txt'), nil)

  child.lua('answers = { "Approve" }')
  child.cmd('Forklift capture approved')
  stage.told(child, 'captured "approved"')
  eq(stage.read(root, 'stopped.txt'), 'stopped')
  child.cmd('Forklift run verify')
  stage.eventually(child, ('vim.uv.fs_stat(%q) ~= nil'):format(root .. '/ran.txt'))
end

T['compare a file in two windows, and see a file as it was'] = function()
  local root = stage.tracked('compared')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'before')
  child.api.nvim_buf_set_lines(0, 0, 1, false, { 'version 2' })
  child.cmd('silent write')
  child.cmd('Forklift diff')
  stage.eventually(child, 'vim.wo.diff')
  eq(#child.api.nvim_list_wins(), 2)
  stage.shows(child, '1 file')
  stage.screen(child, 'diff')
  child.cmd('wincmd h')
  eq({ child.fn.getline(1), child.bo.modifiable, child.bo.buftype }, { 'version 1', false, 'nofile' })
  child.type_keys('q')
  eq({ #child.api.nvim_list_wins(), child.wo.diff }, { 1, false })
  child.cmd('Forklift cat before')
  stage.eventually(child, 'vim.fn.getline(1) == "version 1" and vim.b.forklift_checkpoint == "before"')
  child.cmd('close')

  stage.sql(root, 'CREATE VIEW short AS SELECT body FROM notes')
  child.cmd('Forklift changes')
  stage.eventually(child, 'vim.bo.filetype == "diff"')
  local patch = child.api.nvim_buf_get_lines(0, 0, -1, false)
  eq({ patch, vim.tbl_contains(patch, '# view public.short: created') }, { patch, true })
  eq(vim.tbl_contains(patch, '+version 2'), true)
  -- git takes the patch: backwards it is the checkpoint's file again.
  stage.sh({ 'git', 'apply', '--check', '-R' }, { cwd = root, stdin = table.concat(patch, '\n') .. '\n' })
end

T['the timeline'] = function()
  local root = stage.tracked('lines')
  stage.forklift(root, 'capture', 'second', '-m', 'tests pass')
  local child = stage.child(root, 'src/app.txt')
  stage.shows(child, 'second')
  child.cmd('Forklift timeline')
  stage.eventually(child, 'vim.fn.search("before", "nw") > 0')
  eq({ child.bo.filetype, child.bo.buftype, child.bo.modifiable }, { 'forklift', 'nofile', false })
  stage.screen(child, 'timeline')
  child.type_keys('g?')
  stage.screen(child, 'timeline_keys')
  child.type_keys('q')

  child.fn.search('before')
  child.lua('answers = { "Restore" }')
  child.type_keys('r')
  stage.told(child, 'restored "before"')
  stage.eventually(child, 'vim.fn.getline(vim.fn.search("before", "nw")):find("●", 1, true)')
  child.type_keys('a')
  stage.eventually(child, 'vim.fn.search("◌", "nw") > 0')
  child.type_keys('a')
  stage.eventually(child, 'vim.fn.search("◌", "nw") == 0')

  child.fn.search('second')
  child.type_keys('P')
  stage.told(child, 'protected: second')
  stage.eventually(child, 'vim.fn.search("protected", "nw") > 0')
  child.fn.search('second')
  child.type_keys('P')
  stage.told(child, 'not protected any more: second')
  child.cmd('Forklift capture third')
  stage.eventually(child, 'vim.fn.search("third", "nw") > 0')
  child.fn.search('second')
  child.lua('answers = { "Do it" }')
  child.cmd('.Forklift forget')
  stage.told(child, 'forgot second')
  stage.eventually(child, 'vim.fn.search("second", "nw") == 0')
  child.type_keys('q')
  eq(#child.api.nvim_list_wins(), 1)
end

T['the usual vim.ui.select'] = function()
  local root = stage.tracked('usual')
  stage.write(root, 'src/app.txt', 'version 2\n')
  local child = test.new_child_neovim()
  child.start({ '--cmd', 'set runtimepath^=' .. stage.plugin, '--cmd', 'cd ' .. root, root .. '/src/app.txt' })
  test.finally(child.stop)
  stage.shows(child, 'before')
  -- At a question 0.10 says that it is blocked, later versions are in the mode
  -- of the command line.
  local function asking()
    local mode = vim.fn.rpcrequest(child.job.channel, 'nvim_get_mode')
    return mode.blocking or mode.mode ~= 'n'
  end
  child.api_notify.nvim_command('Forklift restore')
  for question = 1, 2 do -- the picker, then the confirmation
    eq({ question, vim.wait(stage.patience, asking, 5) }, { question, true })
    child.api_notify.nvim_input('1<CR>')
    vim.wait(stage.patience, function()
      return not asking()
    end, 1)
  end
  stage.eventually(child, 'vim.fn.getline(1) == "version 1"')
end

T['telescope'] = function()
  local root = stage.tracked('far')
  stage.write(root, 'src/app.txt', 'version 2\n')
  local child =
    stage.child(root, 'src/app.txt', { '--cmd', ('set runtimepath^=%s/plenary,%s/telescope'):format(stage.plugins, stage.plugins) })
  stage.shows(child, 'before')
  child.lua('require("telescope").load_extension("forklift")')
  child.cmd('Telescope forklift')
  stage.eventually(child, 'vim.bo.filetype == "TelescopePrompt"')
  stage.screen(child, 'telescope')
  child.lua('answers = { "Restore" }')
  child.type_keys('<CR>')
  stage.told(child, 'restored "before"')
end

T['lualine'] = function()
  local root = stage.tracked('line')
  stage.write(root, 'src/app.txt', 'version 2\n')
  local child = stage.child(root, 'src/app.txt', { '--cmd', ('set runtimepath^=%s/lualine'):format(stage.plugins) })
  stage.shows(child, '1 file')
  child.lua([[require('lualine').setup({ options = { icons_enabled = false }, sections = { lualine_b = { 'forklift' } } })]])
  stage.screen(child, 'lualine')
end

return T
