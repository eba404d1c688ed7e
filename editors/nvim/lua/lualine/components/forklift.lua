-- A component of lualine: sections = { lualine_b = { 'forklift' } }. Its colour
-- follows the state unless the user sets one.
local component = require('lualine.component'):extend()

local groups = { interrupted = 'DiagnosticError', changed = 'DiagnosticWarn', running = 'DiagnosticInfo', problem = 'DiagnosticWarn' }

function component:init(options)
  component.super.init(self, options)
  if not options.color then
    self.options.color = function()
      local dict = vim.b.forklift_status_dict
      return dict and (dict.interrupted and 'DiagnosticError' or groups[dict.state]) or nil
    end
    self.color_fn_cache = nil
    if self.create_option_highlights then
      self:create_option_highlights()
    end
  end
end

function component.update_status()
  return require('forklift').statusline()
end

return component
