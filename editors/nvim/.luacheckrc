std = 'luajit'
globals = { 'vim' }
max_line_length = 170
files['test'] = { globals = { 'vim', 'MiniTest' } }
