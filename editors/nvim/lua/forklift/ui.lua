-- What the user is shown and asked, and how numbers and times are written.
local config = require('forklift.config')

local M = {}

-- notify shows a result.
function M.notify(message, level)
  config.get().notify(message, level or vim.log.levels.INFO, { title = 'Forklift' })
end

-- fail shows an error: what happened, what it is about, what can be done.
---@param err forklift.Error
function M.fail(err)
  local lines = { err.message }
  for i, item in ipairs(err.items or {}) do
    if i > 10 then
      table.insert(lines, ('  and %d more'):format(#err.items - 10))
      break
    end
    table.insert(lines, '  ' .. item)
  end
  if err.hint then
    table.insert(lines, err.hint)
  end
  M.notify(table.concat(lines, '\n'), vim.log.levels.ERROR)
end

-- warn shows the warnings of a result, if there are any.
function M.warn(result)
  for _, text in ipairs(type(result) == 'table' and result.warnings or {}) do
    M.notify(text, vim.log.levels.WARN)
  end
end

-- choose lets the user choose one of some answers; callback gets nil when none
-- was. kind is for pickers that show kinds in their own way.
---@param answers string[]
---@param prompt string one line
---@param kind string
---@param callback fun(answer: string?)
function M.choose(answers, prompt, kind, callback)
  vim.ui.select(answers, { prompt = prompt, kind = 'forklift.' .. kind }, callback)
end

-- plural is "1 file" or "2 files".
function M.plural(n, what)
  return n == 1 and ('1 ' .. what) or (n .. ' ' .. what .. 's')
end

-- bytes writes a size.
function M.bytes(n)
  for _, unit in ipairs({ 'B', 'KB', 'MB', 'GB' }) do
    if n < 1000 then
      return (unit == 'B' or n >= 10) and ('%d %s'):format(n, unit) or ('%.1f %s'):format(n, unit)
    end
    n = n / 1000
  end
  return ('%.1f TB'):format(n)
end

-- seconds is a time of RFC 3339 in UTC as seconds since 1970, nil for another
-- text. Neovim's strptime reads local times only.
function M.seconds(text)
  local y, mo, d, h, mi, s = tostring(text):match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not y then
    return nil
  end
  y, mo, d = tonumber(y), tonumber(mo), tonumber(d)
  -- Days since 1970 by counting years from March, so that leap days are last.
  if mo <= 2 then
    y, mo = y - 1, mo + 12
  end
  local days = 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400) + math.floor((153 * (mo - 3) + 2) / 5) + d - 719469
  return days * 86400 + tonumber(h) * 3600 + tonumber(mi) * 60 + tonumber(s)
end

-- ago writes how long a time is gone.
function M.ago(text)
  local at = M.seconds(text)
  if not at then
    return ''
  end
  local age = os.time() - at
  for _, unit in ipairs({ { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }) do
    local n = math.floor(age / unit[1])
    if n >= 1 then
      return M.plural(n, unit[2]) .. ' ago'
    end
  end
  return 'just now'
end

-- pad fills a text to a width in cells.
function M.pad(text, width)
  return text .. (' '):rep(math.max(0, width - vim.fn.strdisplaywidth(text)))
end

-- one makes one line of a text.
function M.one(text)
  return (tostring(text):gsub('[%c]+', ' '))
end

-- rows tells how the rows of a table differ.
function M.rows(t)
  local parts = {}
  for _, p in ipairs({ { 'inserted', '+' }, { 'updated', '~' }, { 'deleted', '-' } }) do
    if (t[p[1]] or 0) > 0 then
      table.insert(parts, p[2] .. t[p[1]])
    end
  end
  if #parts == 0 then
    return t.change or ''
  end
  return table.concat(parts, ' ')
end

return M
