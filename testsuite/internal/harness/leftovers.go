package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a running process.
type Process struct {
	PID  int
	Args string
}

// maxArgs is how much of a command line String shows.
const maxArgs = 200

// String shows the process in a message.
func (p Process) String() string {
	args := p.Args
	if len(args) > maxArgs {
		args = args[:maxArgs] + "…"
	}
	return fmt.Sprintf("%d %s", p.PID, args)
}

// Leftovers lists the processes that belong to root: a path below it is in
// their command line (a server's -D names its slot) or, on Linux, is their
// working directory (every server process stands in its data directory).
// A process that has ended and was not collected yet does not count.
func Leftovers(root string) ([]Process, error) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		return leftoversByPs(root)
	}
	var found []Process
	for _, name := range all {
		line, err := os.ReadFile(name)
		if err != nil || len(line) == 0 {
			continue // gone meanwhile, or has ended
		}
		args := strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(name), "cwd"))
		if !strings.Contains(args, root+"/") && !strings.HasPrefix(cwd+"/", root+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && pid != os.Getpid() {
			found = append(found, Process{PID: pid, Args: args})
		}
	}
	return found, nil
}

// leftoversByPs does it where there is no /proc.
func leftoversByPs(root string) ([]Process, error) {
	out, err := exec.Command("ps", "-axo", "pid=,stat=,args=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Process
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.HasPrefix(fields[1], "Z") || !strings.Contains(line, root+"/") {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err == nil && pid != os.Getpid() {
			found = append(found, Process{PID: pid, Args: strings.Join(fields[2:], " ")})
		}
	}
	return found, nil
}

// WaitForNone waits until no process of root is left and gives those that
// outlive the patience.
func WaitForNone(root string, patience time.Duration) ([]Process, error) {
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := Leftovers(root)
		if err != nil || len(left) == 0 {
			return nil, err
		}
		select {
		case <-deadline:
			return left, nil
		case <-tick.C:
		}
	}
}

// End stops processes that a test left behind: SIGINT, which is a fast
// shutdown to a server, and after five seconds SIGKILL for what is still there.
func End(root string, left []Process) {
	for _, p := range left {
		_ = syscall.Kill(p.PID, syscall.SIGINT)
	}
	still, _ := WaitForNone(root, 5*time.Second)
	for _, p := range still {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}
