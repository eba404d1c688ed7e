-- Settings: the defaults, over them vim.g.forklift (a table, or a function
-- that gives one), over that what setup() was given.
local M = {}

---@class forklift.Icons
---@field fork string stands in front of the statusline's text
---@field current string of the checkpoint that the worktree rests on
---@field other string of other checkpoints
---@field safety string of those that restores made
---@field separator string between the parts of the statusline's text

---@class forklift.Config
---@field binary string the program; a name that is found in PATH, or a path
---@field auto_attach boolean follow the worktree of each file that is opened, once it is set up
---@field unsaved 'ask'|'save'|'disk'|'refuse' what to do about modified buffers before a capture or a restore
---@field confirm boolean ask before a restore; it says what it would overwrite
---@field notify fun(message: string, level: integer, opts: table) shows results
---@field icons forklift.Icons
---@field statusline fun(status: table): string|false makes the text of the statusline; false for the usual one
---@field timeline_height integer lines of the timeline's window

---@type forklift.Config
M.defaults = {
  binary = 'forklift',
  auto_attach = true,
  unsaved = 'ask',
  confirm = true,
  notify = function(message, level, opts)
    vim.notify(message, level, opts)
  end,
  icons = { fork = '⎇', current = '●', other = '○', safety = '◌', separator = ' · ' },
  statusline = false,
  timeline_height = 15,
}

local types = {
  binary = 'string',
  auto_attach = 'boolean',
  unsaved = 'string',
  confirm = 'boolean',
  notify = 'function',
  icons = 'table',
  statusline = { 'function', 'boolean' },
  timeline_height = 'number',
}

local given = nil ---@type table?
local merged = nil ---@type forklift.Config?
local found = {} ---@type string[]

-- valid is vim.validate of one value, in the form of this version.
local function valid(name, value, kind)
  if vim.fn.has('nvim-0.11') == 1 then
    return pcall(vim.validate, name, value, kind)
  end
  return pcall(vim.validate, { [name] = { value, kind } })
end

-- check copies the settings that are right, and notes those that are not.
local function check(source, settings)
  if type(settings) ~= 'table' then
    table.insert(found, source .. ': expected a table, got ' .. type(settings))
    return {}
  end
  local good = {}
  for name, value in pairs(settings) do
    if types[name] == nil then
      table.insert(found, ('%s: there is no setting "%s"'):format(source, name))
    else
      local ok, err = valid(name, value, types[name])
      if ok and name == 'unsaved' and not vim.tbl_contains({ 'ask', 'save', 'disk', 'refuse' }, value) then
        ok, err = false, 'unsaved: expected ask, save, disk or refuse, got ' .. value
      end
      if ok then
        good[name] = value
      else
        table.insert(found, source .. ': ' .. tostring(err))
      end
    end
  end
  return good
end

-- get gives the settings that count. Wrong ones are left out; problems() tells
-- them, and :checkhealth shows them.
---@return forklift.Config
function M.get()
  if merged then
    return merged
  end
  found = {}
  local global = vim.g.forklift
  if type(global) == 'function' then
    global = global()
  end
  merged = vim.tbl_deep_extend('force', M.defaults, check('vim.g.forklift', global or {}), check('setup()', given or {}))
  return merged
end

-- set overrides settings; it is what setup() does.
function M.set(settings)
  given, merged = settings, nil
  for _, problem in ipairs(M.problems()) do
    M.get().notify(problem, vim.log.levels.WARN, { title = 'Forklift' })
  end
end

-- problems are what is wrong with the settings.
---@return string[]
function M.problems()
  M.get()
  return found
end

return M
