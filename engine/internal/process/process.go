// Package process tells what the engine must know about other processes:
// whether one lives, when it was started (so that a reused number is not
// taken for it), and who its ancestors are.
//
// Start times are opaque numbers: on Linux clock ticks since boot, on macOS
// microseconds since 1970. They only ever are compared for equality, on the
// machine and in the boot where they were read.
package process

// maxAncestors bounds the walk up the tree; no sane process is this deep.
const maxAncestors = 256

// Info identifies a process for as long as the machine is up.
type Info struct {
	PID    int
	Parent int
	Start  uint64
	Zombie bool // dead, but not yet reaped by its parent
}

// Alive reports whether pid is a process that was started at start and is
// not a zombie. A start of 0 matches any.
func Alive(pid int, start uint64) bool {
	info, err := Lookup(pid)
	if err != nil || info.Zombie {
		return false
	}
	return start == 0 || info.Start == start
}

// Ancestors lists the process pid, its parent, and so on up to the first
// process of the machine.
func Ancestors(pid int) []Info {
	var line []Info
	for pid > 0 && len(line) < maxAncestors {
		info, err := Lookup(pid)
		if err != nil {
			break
		}
		line = append(line, info)
		pid = info.Parent
	}
	return line
}
