package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"forklift/storage/fault"
)

// output runs a program to its end and gives what it wrote to its standard
// output. Its standard error is part of the error. The program is killed when
// the time is over or ctx ends. It inherits the file held, if there is one.
func (o Options) output(ctx context.Context, limit time.Duration, attr *syscall.SysProcAttr, held *os.File, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = o.childEnv(), "/", attr
	if held != nil {
		cmd.ExtraFiles = []*os.File{held}
	}
	stdout, stderr := &capped{}, &capped{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = time.Second // for grandchildren that keep the pipes open
	if err := cmd.Run(); err != nil {
		return "", runError(ctx, program, limit, stdout.String()+stderr.String(), err)
	}
	return stdout.String(), nil
}

// runError says why a program failed, in its own words.
func runError(ctx context.Context, program string, limit time.Duration, said string, err error) error {
	said = strings.TrimSpace(said)
	kind := fault.Failed
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not done after %s", limit)
	case errors.Is(ctx.Err(), context.Canceled):
		kind, err = fault.Canceled, context.Canceled
	case said != "":
		err = fmt.Errorf("%w: %s", err, said)
	}
	if strings.Contains(said, "No space left on device") {
		kind = fault.NoSpace
	}
	return &fault.Error{Op: "run", Path: program, Kind: kind, Err: err}
}

// capped keeps the first bytes that are written to it.
type capped struct{ bytes.Buffer }

// Write takes all and keeps at most maxOutputBytes in total.
func (c *capped) Write(p []byte) (int, error) {
	if room := maxOutputBytes - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
