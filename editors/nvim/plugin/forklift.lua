-- Defines what is there before the first use: the command, the <Plug> maps
-- and one autocommand. Modules are loaded when one of them is used, so that
-- starting Neovim costs less than a millisecond.
if vim.g.loaded_forklift then
  return
end
vim.g.loaded_forklift = 1

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_echo({ { 'forklift needs Neovim 0.10 or newer', 'WarningMsg' } }, true, {})
  return
end

vim.api.nvim_create_user_command('Forklift', function(opts)
  require('forklift.command').run(opts)
end, {
  nargs = '*',
  bang = true,
  bar = true,
  range = true,
  desc = 'Forklift: checkpoints of the files and the database of this worktree',
  complete = function(lead, line, position)
    return require('forklift.command').complete(lead, line, position)
  end,
})

for _, name in ipairs({
  'capture',
  'restore',
  'undo',
  'redo',
  'recover',
  'timeline',
  'diff',
  'changes',
  'status',
  'log',
  'run',
  'shell',
  'forget',
  'prune',
  'trust',
  'menu',
}) do
  -- Not vim.keymap.set, which is a module that would have to be loaded.
  vim.api.nvim_set_keymap(
    'n',
    '<Plug>(forklift-' .. name .. ')',
    '<Cmd>Forklift ' .. name .. '<CR>',
    { noremap = true, desc = 'Forklift: ' .. name }
  )
end

local group = vim.api.nvim_create_augroup('forklift', {})
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost' }, {
  group = group,
  desc = 'Follow the worktree of a file',
  callback = function(event)
    if vim.bo[event.buf].buftype == '' then
      require('forklift.client').auto_attach(event.buf)
    end
  end,
})
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'forklift:///*',
  desc = 'Read a file as it was at a checkpoint',
  callback = function(event)
    require('forklift.content').read(event.buf, event.match)
  end,
})
