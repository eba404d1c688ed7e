-- Writes what a terminal shows (the text with escape sequences that tmux gives)
-- as HTML: nvim -l picture.lua FILE > FILE.html
local colours = { [0] = '#07080d', '#ffc0b9', '#b3f6c0', '#fce094', '#a6dbff', '#ffcaff', '#8cf8f7', '#eef1f8' }
local back, front = '#14161b', '#e0e2ea'

-- indexed is one of the 256 colours.
local function indexed(n)
  if n < 16 then
    return colours[n % 8]
  elseif n >= 232 then
    local grey = 8 + (n - 232) * 10
    return ('#%02x%02x%02x'):format(grey, grey, grey)
  end
  local function level(v)
    return v == 0 and 0 or 55 + v * 40
  end
  n = n - 16
  return ('#%02x%02x%02x'):format(level(math.floor(n / 36)), level(math.floor(n / 6) % 6), level(n % 6))
end

-- apply changes a style by the numbers of one sequence.
local function apply(style, numbers)
  local i = 1
  while i <= #numbers do
    local n = numbers[i]
    if n == 0 then
      for key in pairs(style) do
        style[key] = nil
      end
    elseif n == 1 then
      style.bold = true
    elseif n == 3 then
      style.italic = true
    elseif n == 4 then
      style.underline = true
    elseif n == 7 then
      style.reverse = true
    elseif n == 38 or n == 48 then
      local key = n == 38 and 'fg' or 'bg'
      if numbers[i + 1] == 2 then
        style[key] = ('#%02x%02x%02x'):format(numbers[i + 2], numbers[i + 3], numbers[i + 4])
        i = i + 4
      else
        style[key] = indexed(numbers[i + 2])
        i = i + 2
      end
    elseif n == 39 then
      style.fg = nil
    elseif n == 49 then
      style.bg = nil
    elseif n >= 30 and n <= 37 or n >= 90 and n <= 97 then
      style.fg = colours[n % 10]
    elseif n >= 40 and n <= 47 or n >= 100 and n <= 107 then
      style.bg = colours[n % 10]
    end
    i = i + 1
  end
end

local function span(style, text)
  local fg, bg = style.fg or front, style.bg or back
  if style.reverse then
    fg, bg = bg, fg
  end
  text = text:gsub('&', '&amp;'):gsub('<', '&lt;')
  return ('<span style="color:%s;background:%s%s%s%s">%s</span>'):format(
    fg,
    bg,
    style.bold and ';font-weight:bold' or '',
    style.italic and ';font-style:italic' or '',
    style.underline and ';text-decoration:underline' or '',
    text
  )
end

io.write(
  ('<meta charset="utf-8"><body style="margin:8px;background:%s"><pre style="margin:0;font:14px/19px \'DejaVu Sans Mono\',monospace">'):format(
    back
  )
)
local style = {}
for line in io.lines(arg[1]) do
  local at = 1
  for from, sequence, to in line:gmatch('()\27%[([%d;:]*)m()') do
    if from > at then
      io.write(span(style, line:sub(at, from - 1)))
    end
    local numbers = {}
    for n in (sequence == '' and '0' or sequence):gmatch('%d+') do
      table.insert(numbers, tonumber(n))
    end
    apply(style, numbers)
    at = to
  end
  io.write(span(style, line:sub(at)), '\n')
end
io.write('</pre>\n')
