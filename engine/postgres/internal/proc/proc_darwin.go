package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// SameDir cannot be told here.
func SameDir(pid int, dir string) (bool, error) { return false, errors.ErrUnsupported }

// InDir cannot be told here.
func InDir(dir string) ([]int, error) { return nil, errors.ErrUnsupported }

// Holds cannot be told here.
func Holds(pid int, name string) (bool, error) { return false, errors.ErrUnsupported }

// Holders cannot be told here.
func Holders(name string) ([]int, error) { return nil, errors.ErrUnsupported }

// Children cannot be told here.
func Children(pid int) ([]int, error) { return nil, errors.ErrUnsupported }

// Command is the program name of pid; "" when it cannot be told.
func Command(pid int) string {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(kp.Proc.P_comm[:])
}

// Namespace is "": there are none.
func Namespace() string { return "" }

// Listeners cannot be told here.
func Listeners(int) []int { return nil }
