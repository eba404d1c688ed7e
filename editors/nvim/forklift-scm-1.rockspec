-- `luarocks make` in this folder installs the plugin; it is not published.
rockspec_format = '3.0'
package = 'forklift'
version = 'scm-1'
source = {
  url = 'git+file://.',
}
description = {
  summary = 'Checkpoints of a worktree\'s files and its PostgreSQL database, in Neovim',
  license = 'Apache-2.0',
}
dependencies = {
  'lua >= 5.1',
}
build = {
  type = 'builtin',
  copy_directories = { 'doc', 'lsp', 'plugin' },
}
