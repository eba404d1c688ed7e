package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Lookup describes a process, from /proc/<pid>/stat (proc(5)).
func Lookup(pid int) (Info, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Info{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	// The second field is the command in parentheses, and may hold any byte.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return Info{}, fmt.Errorf("look up process %d: no command in its stat line", pid)
	}
	fields := strings.Fields(string(data[end+1:]))
	const state, parent, start = 0, 1, 19 // fields 3, 4 and 22
	if len(fields) <= start {
		return Info{}, fmt.Errorf("look up process %d: short stat line", pid)
	}
	info := Info{PID: pid, Zombie: fields[state] == "Z" || fields[state] == "X"}
	if info.Parent, err = strconv.Atoi(fields[parent]); err != nil {
		return Info{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	if info.Start, err = strconv.ParseUint(fields[start], 10, 64); err != nil {
		return Info{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	return info, nil
}

// BootID names the present boot of the machine; "" when it cannot be told.
func BootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
