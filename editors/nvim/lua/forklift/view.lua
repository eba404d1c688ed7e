-- Windows with text of ours: the status, the log, a patch, the timeline.
local M = {}

M.space = vim.api.nvim_create_namespace('forklift')

-- Every group is a link that a colour scheme may replace.
for name, target in pairs({
  ForkliftCurrent = 'String',
  ForkliftName = 'Identifier',
  ForkliftTime = 'Comment',
  ForkliftSize = 'Number',
  ForkliftNote = 'Normal',
  ForkliftSafety = 'Comment',
  ForkliftTitle = 'Title',
  ForkliftHelp = 'Comment',
  ForkliftKey = 'Special',
  ForkliftProtected = 'WarningMsg',
}) do
  vim.api.nvim_set_hl(0, name, { link = target, default = true })
end

---@class forklift.View
---@field name string last part of the buffer's name
---@field root string
---@field lines string[]
---@field filetype string? "forklift" without it
---@field height integer?
---@field keys table<string, { [1]: function, [2]: string }>? key, to what it does and its description

-- help shows the keys of a view in a small window.
local function help(keys)
  local lines = {}
  for key, what in pairs(keys) do
    table.insert(lines, ('  %s  %s  '):format(require('forklift.ui').pad(key, 5), what[2]))
  end
  table.sort(lines)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].bufhidden, vim.bo[buf].modifiable = 'wipe', false
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  vim.api.nvim_open_win(buf, true, {
    relative = 'cursor',
    row = 1,
    col = 2,
    width = width,
    height = #lines,
    style = 'minimal',
    border = 'rounded',
    title = ' Keys ',
  })
  for _, key in ipairs({ 'q', '<Esc>', 'g?' }) do
    vim.keymap.set('n', key, '<Cmd>close<CR>', { buffer = buf, nowait = true })
  end
end

-- write replaces the text of a view.
function M.write(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
end

-- open shows a view in a window below, in the one that shows it already if
-- there is one.
---@param v forklift.View
---@return { buf: integer, win: integer, close: fun() }
function M.open(v)
  local name = ('forklift://%s/%s'):format(v.name, vim.fs.basename(v.root))
  local buf = vim.fn.bufadd(name)
  local win = vim.fn.bufwinid(buf)
  if win == -1 then
    vim.cmd(('botright %dsplit'):format(v.height or math.max(5, math.min(#v.lines, math.floor(vim.o.lines / 2)))))
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, buf)
  else
    vim.api.nvim_set_current_win(win)
  end
  vim.b[buf].forklift_root = v.root
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].buflisted = 'nofile', 'wipe', false, false
  vim.bo[buf].filetype = v.filetype or 'forklift'
  local window = vim.wo[win][0]
  window.number, window.relativenumber, window.signcolumn, window.wrap, window.cursorline = false, false, 'no', false, true
  M.write(buf, v.lines)
  local keys = vim.tbl_extend(
    'keep',
    { q = {
      function()
        pcall(vim.api.nvim_win_close, win, true)
      end,
      'close',
    } },
    v.keys or {}
  )
  keys['g?'] = {
    function()
      help(keys)
    end,
    'show these keys',
  }
  for key, what in pairs(keys) do
    vim.keymap.set('n', key, what[1], { buffer = buf, nowait = true, silent = true, desc = 'Forklift: ' .. what[2] })
  end
  return {
    buf = buf,
    win = win,
    close = function()
      if vim.api.nvim_win_is_valid(win) then
        pcall(vim.api.nvim_win_close, win, true)
      end
    end,
  }
end

return M
