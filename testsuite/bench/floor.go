package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"forklift/testsuite/internal/harness"
)

// startDeadline is how long a bare server may take to start.
const startDeadline = 20 * time.Second

// floor measures stop + start of the same server without Forklift: a copy of
// the worktree's data directory, started and stopped in the fastest way there
// is (postgres itself, watched through its pid file, stopped by SIGINT).
func (l *lab) floor(rounds int) (figure, error) {
	slots, err := filepath.Glob(filepath.Join(harness.Lookup(l.env, "XDG_DATA_HOME"), "forklift/branches/*/[ab]/PG_VERSION"))
	if err != nil || len(slots) != 1 {
		return figure{}, fmt.Errorf("the data directory: %v %w", slots, err)
	}
	data := filepath.Join(l.root, "bare")
	if out, err := exec.Command("cp", "-a", filepath.Dir(slots[0]), data).CombinedOutput(); err != nil {
		return figure{}, fmt.Errorf("copy the data directory: %w\n%s", err, out)
	}
	defer os.RemoveAll(data)
	server, err := l.startBare(data)
	if err != nil {
		return figure{}, err
	}
	var list []figure
	for range rounds {
		begin := time.Now()
		if err := stopBare(server); err != nil {
			return figure{}, err
		}
		if server, err = l.startBare(data); err != nil {
			return figure{}, err
		}
		ms := float64(time.Since(begin).Microseconds()) / 1000
		list = append(list, figure{WallMs: ms, AwayMs: ms})
	}
	return median(list), stopBare(server)
}

// startBare starts a server and returns when it is ready.
func (l *lab) startBare(data string) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(l.pg, "postgres"), "-D", data, "-k", l.root, "-c", "listen_addresses=", "-c", "logging_collector=off",
		"-c", "hba_file="+filepath.Join(data, "pg_hba.conf"), "-c", "shared_buffers=32MB", "-c", "huge_pages=off")
	cmd.Dir = l.root
	if os.Geteuid() == 0 {
		asAnotherUser(cmd)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	deadline := time.After(startDeadline)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		lines := [][]byte{}
		if text, err := os.ReadFile(filepath.Join(data, "postmaster.pid")); err == nil {
			lines = bytes.Split(text, []byte("\n"))
		}
		if len(lines) >= 8 && bytes.HasPrefix(lines[7], []byte("ready")) && string(lines[0]) == strconv.Itoa(cmd.Process.Pid) {
			return cmd, nil
		}
		select {
		case <-deadline:
			return nil, errors.Join(errors.New("the bare server does not start"), cmd.Process.Kill())
		case <-tick.C:
		}
	}
}

// stopBare stops a server the fast way and returns when it is gone.
func stopBare(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return cmd.Wait()
}
