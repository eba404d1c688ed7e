-- The smallest configuration that shows a problem:
--   nvim --clean -u editors/nvim/test/minimal.lua FILE
vim.opt.runtimepath:prepend(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))))
vim.o.statusline = "%f %m %= %{get(b:,'forklift_status','')}"
