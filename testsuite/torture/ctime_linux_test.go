package torture

import "syscall"

// ctime is the change time in nanoseconds since 1970.
func ctime(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
