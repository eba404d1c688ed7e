package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// Lookup describes a process, from the kern.proc.pid sysctl.
func Lookup(pid int) (Info, error) {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Info{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	began := kp.Proc.P_starttime
	return Info{
		PID:    pid,
		Parent: int(kp.Eproc.Ppid),
		Start:  uint64(began.Sec)*1_000_000 + uint64(began.Usec),
		Zombie: kp.Proc.P_stat == zombie,
	}, nil
}

// BootID names the present boot of the machine; "" when it cannot be told.
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
