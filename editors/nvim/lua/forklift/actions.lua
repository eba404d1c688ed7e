-- The verbs that change something, with the questions that belong to them.
local client = require('forklift.client')
local config = require('forklift.config')
local state = require('forklift.state')
local ui = require('forklift.ui')
local unsaved = require('forklift.unsaved')

local M = {}

---@class forklift.Options
---@field bang boolean? do not ask: what is on disk counts, and no confirmation
---@field done fun(err: forklift.Error?, result: table?)? is told how it ended

-- words are what is said when a verb is done.
local words = {
  capture = function(r)
    local text = ('captured "%s": %s, %s new'):format(r.name, ui.plural(r.files, 'file'), ui.bytes(r.added_bytes))
    return r.away_ms > 0 and ('%s, the database was away for %d ms'):format(text, r.away_ms) or text
  end,
  recover = function(r)
    if r.nothing then
      return 'there was nothing to recover'
    end
    return ('the interrupted %s is %s'):format(r.verb, r.direction == 'forward' and 'finished' or 'taken back')
  end,
}
local function restored(r)
  local done = { restore = 'restored', undo = 'undone: back at', redo = 'redone: at' }
  local text = ('%s "%s": %s written, %d removed'):format(done[r.verb] or r.verb, r.name, ui.plural(r.changed, 'file'), r.removed)
  return r.verb == 'redo' and text or text .. '. :Forklift ' .. (r.verb == 'undo' and 'redo' or 'undo') .. ' takes it back'
end
words.restore, words.undo, words.redo = restored, restored, restored

local events = { capture = 'Capture', recover = 'Recover' }

local function finish(root, verb, opts, result)
  local text = words[verb](result)
  if result.rescue_name then
    text = text .. ('. Files that were edited meanwhile are in the checkpoint %s'):format(result.rescue_name)
  end
  ui.notify(text)
  ui.warn(result)
  if events[verb] then
    state.event(events[verb], { root = root, result = result })
  end
  if opts.done then
    opts.done(nil, result)
  end
end

-- send runs a verb, and asks again where its failure is a question.
local function send(root, verb, args, opts)
  client.execute(root, verb, args, function(err, result)
    if not err then
      return finish(root, verb, opts, result)
    end
    if err.kind == 'unsaved' and not args.include_unsaved and not opts.quiet then
      return unsaved.elsewhere(err, function()
        send(root, verb, vim.tbl_extend('force', args, { include_unsaved = 'disk' }), opts)
      end)
    elseif err.kind == 'untrusted' and not args.no_hooks then
      return M.trust(root, function()
        send(root, verb, args, opts)
      end)
    elseif err.kind == 'interrupted' and verb ~= 'recover' then
      return ui.choose({ 'Recover', 'Cancel' }, ui.one(err.message) .. '.', 'recover', function(answer)
        if answer == 'Recover' then
          M.perform(root, 'recover', {})
        else
          ui.fail(err)
        end
      end)
    end
    ui.fail(err)
    if opts.done then
      opts.done(err)
    end
  end)
end

-- first adds at most three of a list to parts, and counts the rest.
local function first(parts, list, format)
  for i, item in ipairs(list) do
    if i > 3 then
      return table.insert(parts, ('and %d more'):format(#list - 3))
    end
    table.insert(parts, format(item))
  end
end

-- database says in a few words what a plan would do to the database: rows of
-- tables first, then what is defined otherwise.
local function database(plan)
  local parts = {}
  first(parts, plan.tables, function(t)
    return ('%s %s'):format(t.table:gsub('^public%.', ''), ui.rows(t))
  end)
  first(parts, plan.definitions, function(d)
    return ('%s %s %s'):format(d.kind, d.name:gsub('^public%.', ''), d.change)
  end)
  if plan.catalogs and not plan.definitions_known then
    table.insert(parts, 'definitions not compared')
  end
  return 'the database is put back' .. (#parts > 0 and ' (' .. table.concat(parts, ', ') .. ')' or '')
end

-- overwritten says in one line what a plan would do.
---@return string
function M.overwritten(plan)
  local parts = {}
  if plan.written + plan.removed + plan.modes > 0 then
    table.insert(parts, ('%s written, %d removed'):format(ui.plural(plan.written, 'file'), plan.removed))
  else
    table.insert(parts, 'no file changes')
  end
  if plan.database then
    table.insert(parts, database(plan.database))
  end
  if plan.in_the_way and #plan.in_the_way > 0 then
    table.insert(parts, 'in the way: ' .. table.concat(plan.in_the_way, '; '))
  end
  return ui.one(table.concat(parts, '; '))
end

-- confirm_restore shows what a restore would overwrite, and does just that.
local function confirm_restore(root, args, opts)
  local ask =
    { worktree = vim.uri_from_fname(root), ref = args.ref, paths = args.paths, code_only = args.code_only, data_only = args.data_only }
  client.request(root, 'forklift/plan', ask, function(err, answer)
    if err then
      return ui.fail(err)
    end
    local plan = answer.plan
    local prompt = ('Restore "%s"? %s. What is there now is saved first.'):format(plan.name, M.overwritten(plan))
    local show = 'Show what differs'
    ui.choose({ 'Restore', show, 'Cancel' }, prompt, 'confirm', function(choice)
      if choice == 'Restore' then
        send(root, 'restore', vim.tbl_extend('force', args, { plan = plan.plan_id, yes = true }), opts)
      elseif choice == show then
        require('forklift.diff').changes(root, args.ref)
      elseif opts.done then
        opts.done({ message = 'not restored', kind = 'canceled' })
      end
    end)
  end)
end

-- perform runs a verb of the code actions, of the command, or of a caller.
---@param root string?
---@param verb string
---@param args table the inputs of the verb
---@param opts forklift.Options?
function M.perform(root, verb, args, opts)
  opts = opts or {}
  if not root then
    return ui.fail({ message = 'this is in no git worktree', kind = 'client' })
  end
  if verb == 'trust' then
    return M.trust(root, function() end)
  elseif verb == 'list' then
    return require('forklift.timeline').open(root)
  elseif verb == 'restore' and not args.ref then
    return require('forklift.picker').pick(root, { prompt = 'Restore checkpoint' }, function(row)
      M.perform(root, 'restore', vim.tbl_extend('force', args, { ref = row.ref }), opts)
    end)
  elseif verb == 'recover' then
    return send(root, verb, args, opts)
  end
  unsaved.resolve(root, verb, opts.bang and 'disk' or args.include_unsaved or config.get().unsaved, function(more)
    args = vim.tbl_extend('force', args, more)
    if verb == 'restore' and config.get().confirm and not opts.bang then
      return confirm_restore(root, args, opts)
    end
    send(root, verb, args, opts)
  end)
end

-- trust shows what .forklift.json would run and approves it if the user says
-- so; then it calls back. quiet says nothing when it is approved already.
function M.trust(root, callback, quiet)
  client.execute(root, 'trust', { show = true }, function(err, shown)
    if err then
      return ui.fail(err)
    end
    if shown.trusted and quiet then
      return callback()
    elseif shown.trusted then
      ui.notify('.forklift.json is approved in this worktree')
      return callback()
    end
    local view = require('forklift.view').open({ name = 'trust', root = root, lines = vim.split(shown.text, '\n', { trimempty = true }) })
    vim.cmd.redraw()
    ui.choose(
      { 'Approve', 'Cancel' },
      'Let Forklift run these commands and hooks of .forklift.json in this worktree?',
      'trust',
      function(answer)
        view.close()
        if answer ~= 'Approve' then
          return ui.notify('not approved; nothing of .forklift.json is run', vim.log.levels.WARN)
        end
        -- What was shown is approved, and nothing that came to the file since.
        client.execute(root, 'trust', { plan = shown.plan_id }, function(failed)
          if failed then
            return ui.fail(failed)
          end
          ui.notify('approved .forklift.json in this worktree')
          callback()
        end)
      end
    )
  end)
end

-- planned runs forget or prune: it shows the plan, asks, and does just that.
---@param verb string
---@param args table
---@param describe fun(plan: table): string? one line; nil when there is nothing to do
---@param bang boolean?
function M.planned(root, verb, args, describe, bang)
  local function run(more, done)
    client.execute(root, verb, vim.tbl_extend('force', args, more), function(err, result)
      if err then
        return ui.fail(err)
      end
      done(result)
    end)
  end
  local function said(result)
    ui.notify(verb .. ': ' .. (describe(result) or 'nothing to do'))
    state.event('Update', { root = root, status = state.get(root) })
  end
  if bang then
    return run({ yes = true }, said)
  end
  run({}, function(plan)
    local text = describe(plan)
    if not text then
      return ui.notify(verb .. ': nothing to do')
    end
    ui.choose({ 'Do it', 'Cancel' }, ('%s: %s?'):format(verb, text), 'confirm', function(answer)
      if answer == 'Do it' then
        run({ yes = true, plan = plan.plan_id }, said)
      end
    end)
  end)
end

-- change runs a verb that changes a record only, and shows a text.
function M.change(root, verb, args, text)
  client.execute(root, verb, args, function(err, result)
    if err then
      return ui.fail(err)
    end
    ui.notify(type(text) == 'function' and text(result) or text)
    ui.warn(result)
    state.event('Update', { root = root, status = state.get(root) })
  end)
end

-- setup gives the worktree a database, and follows it from then on.
function M.setup(root, args)
  args.yes = true
  client.execute(root, 'setup', args, function(err, result)
    if err then
      return ui.fail(err)
    end
    local text = result.created and ('set up the worktree %s'):format(result.worktree.name)
      or ('the worktree %s is set up'):format(result.worktree.name)
    if result.config_made then
      text = text .. '; look at .forklift.json and commit it: it says what a checkpoint saves'
    end
    ui.notify(text)
    ui.warn(result)
    client.attach_all(root)
  end)
end

return M
