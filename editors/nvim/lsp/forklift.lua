-- The server's configuration for vim.lsp.enable('forklift') of Neovim 0.11 and
-- newer. The plugin follows worktrees by itself; who sets `auto_attach` to
-- false decides here, as for any other server.
local client = require('forklift.client')

local config = client.server_config()
config.root_dir = function(buf, start)
  local root = client.root(buf)
  if root and vim.bo[buf].buftype == '' and client.tracked(root) then
    start(root)
  end
end
return config
