package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"forklift/storage/inherit"
)

// maxChildError bounds what is read of a daemon that does not come up.
const maxChildError = 16 << 10

// Child is a daemon that was started.
type Child struct {
	pid   int
	ended chan struct{}
	err   error // with ended
}

// Ended tells whether it ended, and the error if it failed. One that found
// another daemon has not failed.
func (c *Child) Ended() (bool, error) {
	select {
	case <-c.ended:
		return true, c.err
	default:
		return false, nil
	}
}

// passed are the variables that a daemon gets; with a * everything that
// begins so. What verbs need of an editor's environment comes with its hello.
var passed = []string{"HOME", "USER", "LOGNAME", "PATH", "SHELL", "TMPDIR", "LANG", "LC_*", "TZ", "XDG_*", "FORKLIFT_*", "GOCOVERDIR"}

// Environ is the part of an environment that a daemon is started with.
func Environ(environ []string) []string {
	out := []string{}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		for _, p := range passed {
			if prefix, ok := strings.CutSuffix(p, "*"); name == p || (ok && strings.HasPrefix(name, prefix)) {
				out = append(out, kv)
				break
			}
		}
	}
	return out
}

// Start starts this program as a daemon in the background: in a session of its
// own, in the root directory, with nothing of ours open but the pipe that it
// reports a failed start through.
func Start(environ []string) (*Child, error) {
	program, err := os.Executable() // argv[0] may be relative
	if err != nil {
		return nil, err
	}
	// A front under `forklift run` holds the lock of that command.
	if err := inherit.Nothing(); err != nil {
		return nil, err
	}
	report, stderr, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "daemon", "--background")
	cmd.Dir, cmd.Env, cmd.Stderr = "/", Environ(environ), stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	stderr.Close()
	if err != nil {
		report.Close()
		return nil, err
	}
	c := &Child{pid: cmd.Process.Pid, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		text, _ := io.ReadAll(io.LimitReader(report, maxChildError)) // ends when the daemon is up, too
		report.Close()
		if err := cmd.Wait(); err != nil {
			c.err = childError(err, string(text))
		}
	}()
	return c, nil
}

// childError says why a daemon ended, in its own words if it had any.
func childError(err error, text string) error {
	text = strings.TrimPrefix(strings.TrimSpace(text), "forklift: error: ")
	if text == "" {
		return err
	}
	if at := strings.Index(text, "\nhint: "); at >= 0 {
		text = text[:at] + "; " + text[at+len("\nhint: "):]
	}
	return fmt.Errorf("%w (%v)", errors.New(text), err)
}
