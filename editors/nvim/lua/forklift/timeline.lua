-- The timeline: the checkpoints of a worktree, or of the project, the newest
-- first, in a buffer of their own.
local actions = require('forklift.actions')
local config = require('forklift.config')
local diff = require('forklift.diff')
local picker = require('forklift.picker')
local ui = require('forklift.ui')
local view = require('forklift.view')

local M = {}

---@class forklift.Timeline
---@field root string
---@field buf integer
---@field rows table[] the checkpoint of each line below the title
---@field all boolean safety checkpoints too
---@field project boolean of all worktrees of the project
---@field after string? there are older ones

local open = {} ---@type table<integer, forklift.Timeline> by buffer

-- head is the number of lines above the first checkpoint.
local head = 2

-- line is a checkpoint as text, and the groups of its parts.
local function line(c, width)
  local icons = config.get().icons
  local safety = c.kind ~= 'capture'
  local parts = {
    { c.current and icons.current or safety and icons.safety or icons.other, c.current and 'ForkliftCurrent' or 'ForkliftTime' },
    { ui.pad(c.ref, width), safety and 'ForkliftSafety' or 'ForkliftName' },
    { ui.pad(c.age, 14), 'ForkliftTime' },
    { ui.pad(ui.plural(c.files, 'file'), 10), 'ForkliftSize' },
    { ui.pad(ui.bytes(c.logical_bytes), 7), 'ForkliftSize' },
    { ui.pad(c.actor, 4), 'ForkliftTime' },
  }
  if c.protected then
    table.insert(parts, { 'protected', 'ForkliftProtected' })
  end
  if c.note or c.reason then
    table.insert(parts, { ui.one(c.note or c.reason), 'ForkliftNote' })
  end
  return parts
end

-- draw writes the rows.
local function draw(t)
  if not vim.api.nvim_buf_is_valid(t.buf) then
    return
  end
  local width = 8
  for _, c in ipairs(t.rows) do
    width = math.max(width, vim.fn.strdisplaywidth(c.ref))
  end
  local title = ('Checkpoints of %s%s'):format(t.project and 'the project of ' or '', vim.fs.basename(t.root))
  local lines, marks = { title, 'g? shows the keys' }, { { 0, 0, #title, 'ForkliftTitle' }, { 1, 0, 17, 'ForkliftHelp' } }
  for _, c in ipairs(t.rows) do
    local text = ''
    for i, part in ipairs(line(c, math.min(width, 40))) do
      text = text .. (i > 1 and '  ' or '')
      table.insert(marks, { #lines, #text, #text + #part[1], part[2] })
      text = text .. part[1]
    end
    table.insert(lines, (text:gsub('%s+$', '')))
  end
  if #t.rows == 0 then
    table.insert(lines, 'There is none yet. :Forklift capture makes one.')
  elseif t.after then
    table.insert(lines, 'Older ones: gm')
  end
  view.write(t.buf, lines)
  vim.api.nvim_buf_clear_namespace(t.buf, view.space, 0, -1)
  for _, m in ipairs(marks) do
    local last = math.min(m[3], #lines[m[1] + 1])
    if last > m[2] then
      vim.api.nvim_buf_set_extmark(t.buf, view.space, m[1], m[2], { end_col = last, hl_group = m[4] })
    end
  end
end

-- load reads the first page, or the one behind, and draws.
local function load(t, more)
  picker.fetch(t.root, { all = t.all, project = t.project, limit = 100, after = more and t.after or nil }, function(err, rows, after)
    if err then
      return ui.fail(err)
    end
    t.rows = more and vim.list_extend(t.rows, rows) or rows
    t.after = after
    draw(t)
  end)
end

-- under is the checkpoint of a line of the timeline, by default the cursor's.
local function under(t, number)
  return t.rows[(number or vim.api.nvim_win_get_cursor(0)[1]) - head]
end

-- between are the checkpoints of some lines of a buffer; none when it is no
-- timeline.
---@return string[]
function M.between(buf, first, last)
  local t, refs = open[buf], {}
  for number = first, t and last or 0 do
    local c = under(t, number)
    if c then
      table.insert(refs, c.ref)
    end
  end
  return refs
end

-- on makes what a key does of a function of the checkpoint under the cursor.
local function on(t, f)
  return function()
    local c = under(t)
    if c then
      f(c)
    end
  end
end

-- toggled makes what a key does of a setting of the timeline.
local function toggled(t, name)
  return function()
    t[name] = not t[name]
    load(t)
  end
end

local function keys(t)
  local command = require('forklift.command')
  return {
    ['<CR>'] = { on(t, function(c)
      command.show(t.root, c.ref)
    end), 'show the checkpoint in detail' },
    r = { on(t, function(c)
      actions.perform(t.root, 'restore', { ref = c.ref })
    end), 'restore it; asks first' },
    d = { on(t, function(c)
      diff.changes(t.root, c.ref)
    end), 'what differs from it now' },
    c = {
      function()
        actions.perform(t.root, 'capture', {})
      end,
      'capture a new one',
    },
    u = {
      function()
        actions.perform(t.root, 'undo', {})
      end,
      'undo the last restore',
    },
    U = {
      function()
        actions.perform(t.root, 'redo', {})
      end,
      'redo what was undone',
    },
    x = { on(t, function(c)
      command.forget(t.root, { c.ref })
    end), 'forget it; asks first' },
    n = { on(t, function(c)
      command.note(t.root, c)
    end), 'change its note' },
    P = {
      on(t, function(c)
        actions.change(
          t.root,
          c.protected and 'unprotect' or 'protect',
          { refs = { c.ref } },
          (c.protected and 'not protected any more: ' or 'protected: ') .. c.ref
        )
      end),
      'protect it from being forgotten, or not any more',
    },
    a = { toggled(t, 'all'), 'safety checkpoints too, or not' },
    p = { toggled(t, 'project'), 'all worktrees of the project, or this one' },
    gm = {
      function()
        if t.after then
          load(t, true)
        end
      end,
      'older ones',
    },
    R = {
      function()
        load(t)
      end,
      'read it again',
    },
  }
end

-- open shows the timeline of a worktree.
---@param root string
function M.open(root)
  local t = { root = root, rows = {}, all = false, project = false }
  local v = view.open({ name = 'timeline', root = root, lines = { '' }, height = config.get().timeline_height, keys = keys(t) })
  t.buf = v.buf
  open[v.buf] = t
  load(t)
  local group = vim.api.nvim_create_augroup('forklift.timeline.' .. v.buf, {})
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = { 'ForkliftUpdate', 'ForkliftCapture', 'ForkliftRestore' },
    callback = function(event)
      if event.data.root == root then
        load(t)
      end
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = v.buf,
    callback = function()
      open[v.buf] = nil
      vim.api.nvim_del_augroup_by_id(group)
    end,
  })
end

return M
