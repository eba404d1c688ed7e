-- Runs the stories: one line for each, the counts, and an exit code.
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
vim.opt.runtimepath:append(os.getenv('FORKLIFT_PLUGINS') .. '/mini.test')
package.path = here .. '/?.lua;' .. package.path

local test = require('mini.test')
local filters = vim.split(os.getenv('FORKLIFT_FILTER') or '', '|', { trimempty = true })

local reporter = { began = {} }
function reporter.start(cases)
  reporter.cases = cases
end

function reporter.update(number)
  local case = reporter.cases[number]
  local name = table.concat(case.desc, ' | ', 2)
  local state = case.exec and case.exec.state or ''
  if state:match('^Executing') then
    reporter.began[number] = reporter.began[number] or vim.uv.hrtime()
  elseif state ~= '' then
    local took = (vim.uv.hrtime() - (reporter.began[number] or vim.uv.hrtime())) / 1e9
    io.stdout:write(('%s  %s (%.1f s)\n'):format(state:match('^Pass') and 'ok  ' or 'FAIL', name, took))
    for _, line in ipairs(vim.list_extend(vim.deepcopy(case.exec.notes), case.exec.fails)) do
      io.stdout:write('      ' .. line:gsub('\27%[[%d;]*m', ''):gsub('\n', '\n      ') .. '\n')
    end
    io.stdout:flush()
  end
end

function reporter.finish()
  local passed, failed = 0, 0
  for _, case in ipairs(reporter.cases) do
    if case.exec.state:match('^Pass') then
      passed = passed + 1
    else
      failed = failed + 1
    end
  end
  io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
  io.stdout:flush()
  vim.cmd(failed == 0 and passed > 0 and 'qall!' or 'cquit 1')
end

test.setup({
  collect = {
    find_files = function()
      return vim.fn.globpath(here, 'test_*.lua', true, true)
    end,
    filter_cases = function(case)
      local name = table.concat(case.desc, ' ')
      return #filters == 0 or vim.iter(filters):any(function(f)
        return name:find(f) ~= nil
      end)
    end,
  },
  execute = { reporter = reporter },
  silent = true,
})

vim.schedule(function()
  local cases = test.collect()
  if #cases == 0 then
    io.stdout:write('no story has such a name\n')
    vim.cmd('cquit 1')
  end
  test.execute(cases)
end)
