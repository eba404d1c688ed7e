-- The command :Forklift: its subcommands, their completion and their views.
local actions = require('forklift.actions')
local client = require('forklift.client')
local picker = require('forklift.picker')
local ui = require('forklift.ui')

local M = {}

---@class forklift.Context
---@field root string
---@field args string[]
---@field bang boolean
---@field line1 integer?
---@field line2 integer? with range: the lines that the command was given
---@field range integer

---@class forklift.Subcommand
---@field run fun(ctx: forklift.Context)
---@field complete (fun(root: string, args: string[]): string[])|string[]|nil
---@field help string
---@field anywhere boolean? it needs no worktree

local function names(root)
  return picker.names(root)
end

-- view asks for something and shows it as text.
local function view(name, root, lines, more)
  require('forklift.view').open(vim.tbl_extend('force', { name = name, root = root, lines = lines }, more or {}))
end

-- flag takes a flag out of the arguments, and says that it was there.
local function flag(args, name)
  for i, arg in ipairs(args) do
    if arg == name then
      table.remove(args, i)
      return true
    end
  end
  return false
end

-- option takes a flag and its value out of the arguments.
local function option(args, name)
  for i, arg in ipairs(args) do
    if arg == name then
      table.remove(args, i)
      return table.remove(args, i)
    end
  end
end

-- behind takes what stands behind "--" out of the arguments.
local function behind(args)
  for i, arg in ipairs(args) do
    if arg == '--' then
      local rest = vim.list_slice(args, i + 1)
      for _ = i, #args do
        table.remove(args)
      end
      return rest
    end
  end
end

-- message takes -m and everything behind it out of the arguments: a note.
local function message(args)
  for i, arg in ipairs(args) do
    if arg == '-m' then
      local text = table.concat(args, ' ', i + 1)
      for _ = i, #args do
        table.remove(args)
      end
      return text
    end
  end
end

-- row is a label and a text of the views.
local function row(lines, label, text)
  table.insert(lines, ui.pad(label, 12) .. ui.one(text))
end

-- status_lines is a status as text.
local function status_lines(s)
  local lines = { 'Worktree ' .. (s.worktree.name ~= '' and s.worktree.name or s.worktree.path) }
  if not s.tracked then
    for _, problem in ipairs(s.problems or {}) do
      table.insert(lines, ui.one(problem))
    end
    table.insert(lines, ':Forklift setup gives it a database of its own')
    return lines
  end
  if s.interrupted then
    local way = s.interrupted.forward and 'finishes it' or 'takes it back'
    row(lines, 'interrupted', ('%s of %s; :Forklift recover %s'):format(s.interrupted.verb, s.interrupted.target, way))
  end
  if s.operation then
    row(lines, 'under way', ('%s, process %d'):format(s.operation.verb, s.operation.pid))
  end
  row(lines, 'checkpoint', s.checkpoint and ('%s, %s'):format(s.checkpoint.name, ui.ago(s.checkpoint.created)) or 'none yet')
  if s.source_checkpoint then
    row(lines, '', ('source: %s, %s'):format(s.source_checkpoint.name, ui.ago(s.source_checkpoint.created)))
  end
  row(lines, 'server', s.server.state .. (s.server.version and ', PostgreSQL ' .. s.server.version or ''))
  for _, h in ipairs(s.holders or {}) do
    row(lines, 'command', ('%d %s'):format(h.pid, table.concat(h.argv, ' ')))
  end
  if s.app then
    row(lines, 'app', ('stopped for a %s and not started again; :Forklift recover starts it'):format(s.app.verb))
  end
  if s.trusted == false then
    row(lines, 'trust', 'the commands and hooks of .forklift.json are not approved; see :Forklift trust')
  end
  for _, u in ipairs(s.unsaved or {}) do
    row(lines, 'unsaved', ('%s (%s)'):format(u.path, u.editor))
  end
  row(lines, 'changed', s.files_known and ui.plural(s.file_count, 'file') or 'not known yet')
  for _, f in ipairs(s.files or {}) do
    table.insert(lines, ('  %s %s'):format(ui.pad(f.change, 9), f.path))
  end
  row(lines, 'rows', s.rows_known and ui.plural(s.row_count, 'row') or 'not counted: the server does not run')
  for _, t in ipairs(s.tables or {}) do
    table.insert(lines, ('  %s %s'):format(ui.pad(t.table, 24), ui.rows(t)))
  end
  for _, problem in ipairs(s.problems or {}) do
    row(lines, 'problem', problem)
  end
  return lines
end

-- compared opens the comparison of the file in the line under the cursor.
local function compared(root)
  return function()
    local change, path = vim.api.nvim_get_current_line():match('^  (%a+)%s+(.+)$')
    local full = path and vim.fs.joinpath(root, path)
    if not full or not vim.tbl_contains({ 'added', 'modified', 'removed', 'mode' }, change) then
      return
    end
    if change == 'removed' then
      return require('forklift.diff').changes(root)
    end
    vim.cmd('wincmd p')
    vim.cmd.edit(vim.fn.fnameescape(full))
    require('forklift.diff').file(root, nil, vim.api.nvim_get_current_buf())
  end
end

local function status(root)
  client.request(root, 'forklift/status', { worktree = vim.uri_from_fname(root) }, function(err, s)
    if err then
      return ui.fail(err)
    end
    require('forklift.state').set(root, s)
    view('status', root, status_lines(s), {
      keys = {
        ['<CR>'] = { compared(root), 'compare the file with the checkpoint' },
        R = {
          function()
            status(root)
          end,
          'look again',
        },
      },
    })
  end)
end

-- show shows one checkpoint in detail.
function M.show(root, ref)
  client.execute(root, 'show', { ref = ref }, function(err, c)
    if err then
      return ui.fail(err)
    end
    local lines = { 'Checkpoint ' .. c.name }
    row(lines, 'worktree', c.worktree)
    row(lines, 'made', ('%s, %s, by %s'):format(c.created, ui.ago(c.created), c.actor))
    row(lines, 'kind', c.kind .. (c.protected and ', protected' or ''))
    row(lines, 'id', c.id)
    if c.note then
      row(lines, 'note', c.note)
    end
    if c.git_branch or c.head then
      row(lines, 'git', ('%s %s'):format(c.git_branch or 'detached', (c.head or ''):sub(1, 12)))
    end
    row(lines, 'holds', ('%s, %s'):format(ui.plural(c.files, 'file'), ui.bytes(c.logical_bytes)))
    row(lines, 'stored', ('%s for it alone, %s shared'):format(ui.bytes(c.own_bytes), ui.bytes(c.shared_bytes)))
    view('checkpoint', root, lines)
  end)
end

-- forget forgets checkpoints, after a question.
function M.forget(root, refs, bang)
  actions.planned(root, 'forget', { refs = refs }, function(plan)
    if #plan.forget == 0 then
      return nil
    end
    local list = vim.tbl_map(function(r)
      return r.name
    end, plan.forget)
    return ('%s %s, about %s free after a prune'):format(
      plan.done and 'forgot' or 'forget',
      table.concat(list, ', '),
      ui.bytes(plan.free_bytes)
    )
  end, bang)
end

-- note asks for the note of a checkpoint and keeps it.
function M.note(root, c)
  vim.ui.input({ prompt = ('Note of %s: '):format(c.ref), default = c.note }, function(text)
    if text then
      local args = text == '' and { ref = c.ref, clear = true } or { ref = c.ref, text = text }
      actions.change(root, 'note', args, 'noted at ' .. c.ref)
    end
  end)
end

local function log(root)
  client.execute(root, 'log', { limit = 100 }, function(err, result)
    if err then
      return ui.fail(err)
    end
    local lines = { 'Operations of ' .. vim.fs.basename(root) }
    for _, o in ipairs(result.operations) do
      local outcome = o.outcome ~= '' and o.outcome or 'not ended'
      local parts =
        { ui.pad(o.verb, 9), ui.pad(outcome, 9), ui.pad(ui.ago(o.started), 14), ui.pad(o.actor, 4), ui.one(o.name or o.error or '') }
      table.insert(lines, (table.concat(parts, '  '):gsub('%s+$', '')))
    end
    view('log', root, lines)
  end)
end

-- commands are the names of the commands in .forklift.json. It waits a moment
-- at most.
local function commands(root)
  local answer = client.request_sync(root, 'forklift/commands', { worktree = vim.uri_from_fname(root) }, 500)
  return vim.tbl_map(function(c)
    return c.name
  end, answer and answer.commands or {})
end

local function run(ctx)
  local rest = behind(ctx.args)
  if rest then
    return require('forklift.terminal').open(ctx.root, vim.list_extend({ 'run', '--' }, rest))
  elseif #ctx.args > 0 then
    local argv = vim.list_extend({ 'run' }, ctx.args)
    -- What the repository names is run only when it is approved.
    return actions.trust(ctx.root, function()
      require('forklift.terminal').open(ctx.root, argv)
    end, true)
  end
  local list = commands(ctx.root)
  if #list == 0 then
    return ui.notify('.forklift.json names no commands; :Forklift run -- COMMAND runs any')
  end
  ui.choose(list, 'Run', 'command', function(name)
    if name then
      run({ root = ctx.root, args = { name } })
    end
  end)
end

-- menu offers what is sensible now.
local function menu(ctx)
  local s = require('forklift.state').get(ctx.root)
  local offers = { 'capture', 'restore', 'timeline', 'diff', 'changes', 'undo', 'redo', 'run', 'shell', 'status' }
  if s and s.interrupted then
    offers = { 'recover', 'status', 'log' }
  elseif s and not s.tracked or not client.tracked(ctx.root) then
    offers = { 'setup', 'health' }
  elseif s and s.trusted == false then
    table.insert(offers, 1, 'trust')
  end
  vim.ui.select(offers, {
    prompt = 'Forklift',
    kind = 'forklift.menu',
    format_item = function(name)
      return ui.pad(name, 10) .. M.subcommands[name].help
    end,
  }, function(name)
    if name then
      M.execute(name)
    end
  end)
end

-- verb makes a subcommand of a verb that takes no names.
local function verb(name)
  return function(ctx)
    local args = {}
    for _, f in ipairs({ 'back', 'disconnect', 'no-hooks' }) do
      if flag(ctx.args, '--' .. f) then
        args[f:gsub('-', '_')] = true
      end
    end
    actions.perform(ctx.root, name, args, { bang = ctx.bang })
  end
end

local function restore(ctx)
  local args =
    { paths = behind(ctx.args), code_only = flag(ctx.args, '--code-only') or nil, data_only = flag(ctx.args, '--data-only') or nil }
  for i, path in ipairs(args.paths or {}) do
    args.paths[i] = require('forklift.unsaved').inside(vim.fn.bufadd(path), ctx.root) or path
  end
  args.ref = ctx.args[1]
  actions.perform(ctx.root, 'restore', args, { bang = ctx.bang })
end

local function server(name, text)
  return function(ctx)
    actions.change(ctx.root, name, {}, text)
  end
end

-- protect makes a subcommand of a verb that changes the record of checkpoints.
local function protect(name, text)
  return function(ctx)
    actions.change(ctx.root, name, { refs = ctx.args }, text .. ': ' .. table.concat(ctx.args, ', '))
  end
end

local function url(ctx)
  client.execute(ctx.root, 'db_url', {}, function(err, result)
    if err then
      return ui.fail(err)
    end
    vim.fn.setreg('"', result.url)
    pcall(vim.fn.setreg, '+', result.url)
    ui.notify('the database\'s URL is in the register "')
  end)
end

local function cat(ctx)
  local ref, path = (ctx.args[1] or ''):match('^(.+):(.-)$')
  local own = require('forklift.unsaved').inside(vim.api.nvim_get_current_buf(), ctx.root)
  if #ctx.args == 1 and not (ref and vim.uv.fs_stat(vim.fs.joinpath(ctx.root, path)) or not own) then
    ref, path = ctx.args[1], own
  end
  if not ref or path == '' then
    return ui.fail({ message = 'cat takes NAME:PATH, or in a file of the worktree a NAME', kind = 'client' })
  end
  require('forklift.content').load(vim.fs.joinpath(ctx.root, path), ref, function(err, buf)
    if err then
      return ui.fail(err)
    end
    vim.cmd('sbuffer ' .. buf)
  end)
end

local function worktree(ctx)
  local from, branch, seed = option(ctx.args, '--from'), option(ctx.args, '-b'), option(ctx.args, '--seed')
  local path = ctx.args[1]
  if not path then
    return ui.fail({ message = 'worktree takes the PATH of the new worktree', kind = 'client' })
  end
  path = vim.fn.fnamemodify(path, ':p'):gsub('/$', '')
  actions.change(ctx.root, 'worktree_add', { path = path, from = from, branch = branch, seed = seed }, function(result)
    return ('made the worktree %s in %s'):format(result.worktree.name, result.worktree.path)
  end)
end

local function prune(ctx)
  actions.planned(ctx.root, 'prune', {}, function(plan)
    if #(plan.safety or {}) + plan.unfinished + plan.remove + plan.repack + plan.stray == 0 then
      return nil
    end
    return ('%s about %s of %s'):format(plan.done and 'freed' or 'free', ui.bytes(plan.freed_bytes), ui.bytes(plan.bytes))
  end, ctx.bang)
end

---@type table<string, forklift.Subcommand>
M.subcommands = {
  capture = {
    help = 'save the files and the database: [NAME] [-m NOTE]',
    run = function(ctx)
      local text = message(ctx.args)
      actions.perform(ctx.root, 'capture', { note = text, name = ctx.args[1] }, { bang = ctx.bang })
    end,
  },
  restore = { help = 'put both back: [NAME] [--code-only|--data-only] [-- PATH...]', run = restore, complete = names },
  undo = { help = 'take the last restore back', run = verb('undo') },
  redo = { help = 'take the last undo back', run = verb('redo') },
  recover = { help = 'end an interrupted operation: [--back]', run = verb('recover'), complete = { '--back' } },
  timeline = {
    help = 'the checkpoints, in a buffer',
    run = function(ctx)
      require('forklift.timeline').open(ctx.root)
    end,
  },
  diff = {
    help = 'compare this file with a checkpoint: [NAME]',
    complete = names,
    run = function(ctx)
      require('forklift.diff').file(ctx.root, ctx.args[1], vim.api.nvim_get_current_buf())
    end,
  },
  changes = {
    help = 'what differs in the whole worktree: [NAME [NAME]]',
    complete = names,
    run = function(ctx)
      require('forklift.diff').changes(ctx.root, ctx.args[1], ctx.args[2])
    end,
  },
  cat = { help = 'a file as it was: NAME[:PATH]', complete = names, run = cat },
  show = {
    help = 'a checkpoint in detail: NAME',
    complete = names,
    run = function(ctx)
      if ctx.args[1] then
        return M.show(ctx.root, ctx.args[1])
      end
      picker.pick(ctx.root, { prompt = 'Show checkpoint', all = true }, function(c)
        M.show(ctx.root, c.ref)
      end)
    end,
  },
  status = {
    help = 'what changed since the checkpoint',
    run = function(ctx)
      status(ctx.root)
    end,
  },
  log = {
    help = 'what was done to this worktree',
    run = function(ctx)
      log(ctx.root)
    end,
  },
  run = { help = 'run a command with the database: NAME, or -- COMMAND', complete = commands, run = run },
  shell = {
    help = 'a prompt of the database',
    run = function(ctx)
      require('forklift.terminal').open(ctx.root, { 'db', 'shell' })
    end,
  },
  url = { help = "copy the database's URL", run = url },
  start = { help = 'start the database server, and let it run', run = server('db_start', 'the server runs until :Forklift stop') },
  stop = { help = 'stop the database server', run = server('db_stop', 'the server is stopped') },
  forget = {
    help = 'forget checkpoints: [NAME...]',
    complete = names,
    run = function(ctx)
      local refs = ctx.range > 0 and require('forklift.timeline').between(vim.api.nvim_get_current_buf(), ctx.line1, ctx.line2) or ctx.args
      if #refs > 0 then
        return M.forget(ctx.root, refs, ctx.bang)
      end
      picker.pick(ctx.root, { prompt = 'Forget checkpoint' }, function(c)
        M.forget(ctx.root, { c.ref }, ctx.bang)
      end)
    end,
  },
  prune = { help = 'free what no checkpoint needs', run = prune },
  protect = { help = 'never forget: NAME...', complete = names, run = protect('protect', 'protected') },
  unprotect = { help = 'may be forgotten again: NAME...', complete = names, run = protect('unprotect', 'not protected any more') },
  rename = {
    help = 'give a checkpoint another name: OLD NEW',
    complete = names,
    run = function(ctx)
      actions.change(ctx.root, 'rename', { ref = ctx.args[1], to = ctx.args[2] }, function(c)
        return 'renamed to ' .. c.name
      end)
    end,
  },
  note = {
    help = 'change the note of a checkpoint: NAME [TEXT]',
    complete = names,
    run = function(ctx)
      local ref = table.remove(ctx.args, 1)
      if not ref or #ctx.args == 0 then
        return picker.pick(ctx.root, { prompt = 'Note of checkpoint' }, function(c)
          M.note(ctx.root, c)
        end)
      end
      actions.change(ctx.root, 'note', { ref = ref, text = table.concat(ctx.args, ' ') }, 'noted at ' .. ref)
    end,
  },
  trust = {
    help = 'approve what .forklift.json would run',
    run = function(ctx)
      actions.trust(ctx.root, function() end)
    end,
  },
  setup = {
    help = 'give this worktree a database: [--seed NAME]',
    complete = { '--seed' },
    run = function(ctx)
      actions.setup(ctx.root, { seed = option(ctx.args, '--seed') })
    end,
  },
  worktree = {
    help = 'a new worktree: PATH [--from NAME] [-b GITBRANCH]',
    run = worktree,
    complete = function(root, args)
      return args[#args] == '--from' and names(root) or { '--from', '-b', '--seed' }
    end,
  },
  menu = { help = 'choose what to do', run = menu },
  cli = {
    help = 'any command of the command line, in a terminal',
    run = function(ctx)
      require('forklift.terminal').open(ctx.root, ctx.args)
    end,
  },
  health = {
    help = ':checkhealth forklift',
    anywhere = true,
    run = function()
      vim.cmd('checkhealth forklift')
    end,
  },
  logs = {
    help = 'the log of the daemon',
    run = function(ctx)
      require('forklift.terminal').open(ctx.root, { 'daemon', 'logs' })
    end,
  },
  restart = {
    help = 'start the connection anew',
    anywhere = true,
    run = function()
      client.restart()
    end,
  },
  help = {
    help = ':help forklift',
    anywhere = true,
    run = function()
      vim.cmd.help('forklift')
    end,
  },
}
M.subcommands.list = vim.tbl_extend('force', M.subcommands.timeline, {})

-- run is the command.
---@param opts table as nvim_create_user_command gives it
function M.run(opts)
  local args = vim.deepcopy(opts.fargs)
  local name = table.remove(args, 1) or 'status'
  M.execute(name, args, opts)
end

-- execute runs a subcommand by its name.
---@param name string
---@param args string[]?
---@param opts { bang: boolean?, range: integer?, line1: integer?, line2: integer? }?
function M.execute(name, args, opts)
  opts = opts or {}
  local sub = M.subcommands[name]
  if not sub then
    local names_ = vim.tbl_keys(M.subcommands)
    table.sort(names_)
    return ui.fail({
      message = ('there is no :Forklift %s'):format(name),
      kind = 'client',
      hint = 'There are: ' .. table.concat(names_, ', ') .. '.',
    })
  end
  local root = client.root()
  if not root and not sub.anywhere then
    return ui.fail({ message = 'this is in no git worktree', kind = 'client', hint = 'Open a file of one, or :cd to it.' })
  end
  sub.run({
    root = root or '',
    args = args or {},
    bang = opts.bang or false,
    range = opts.range or 0,
    line1 = opts.line1,
    line2 = opts.line2,
  })
end

-- complete completes the command line.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local words = vim.split(line:sub(1, position), '%s+', { trimempty = false })
  while words[1] and not words[1]:match('^%A*Fo') do
    table.remove(words, 1)
  end
  local candidates
  if #words <= 2 then
    candidates = vim.tbl_keys(M.subcommands)
    table.sort(candidates)
  else
    local sub, root = M.subcommands[words[2]], client.root()
    local complete = sub and sub.complete
    if type(complete) == 'function' then
      candidates = root and complete(root, vim.list_slice(words, 3, #words - 1)) or {}
    else
      candidates = complete or {}
    end
  end
  return vim.tbl_filter(function(c)
    return vim.startswith(c, lead)
  end, candidates)
end

return M
