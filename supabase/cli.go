package supabase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/inherit"
)

const (
	programName = "supabase"
	// tested is the version of the CLI that Forklift was tested with; others
	// from oldest on are used, and doctor says so.
	tested = "3.1.0"

	probeTimeout  = 30 * time.Second // --version
	startTimeout  = 15 * time.Minute // a first start downloads services
	stopTimeout   = 2 * time.Minute
	statusTimeout = time.Minute
	// killAfter is how long the CLI has to end after it was interrupted.
	killAfter = 20 * time.Second

	maxOutputBytes = 1 << 20 // of the CLI, kept
)

// oldest is the first version with stacks, as numbers.
var oldest = [3]int{2, 119, 0}

// cli is the user's own Supabase CLI.
type cli struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	// Size and Mtime are of the file that Path leads to: another file may be
	// another version.
	Size  int64 `json:"size"`
	Mtime int64 `json:"mtime"`
}

var versionText = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

// findProgram looks for the CLI: on PATH, then among the packages of the
// project. Nothing is run.
func findProgram(getenv func(string) string, dirs ...string) string {
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if name := filepath.Join(dir, programName); filepath.IsAbs(dir) && isProgram(name) {
			return name
		}
	}
	for _, dir := range dirs {
		if name := filepath.Join(dir, "node_modules/.bin", programName); dir != "" && isProgram(name) {
			return name
		}
	}
	return ""
}

func noProgram() error {
	return &fault.Error{Op: "find Supabase CLI", Path: programName, Kind: fault.NotFound,
		Err: errors.New("there is no `supabase` on PATH, and none in node_modules of the project"),
		Hint: "Install it, as with `npm install --save-dev supabase@" + tested + "`, and try again. " +
			"For a plain PostgreSQL in the place of the stack, write `\"database\": {\"kind\": \"postgres\"}` into .forklift.json before the first `forklift setup`."}
}

// checkVersion refuses a CLI that has no stacks.
func checkVersion(version, path string) error {
	m := versionText.FindStringSubmatch(version)
	if m == nil {
		return &fault.Error{Op: "find Supabase CLI", Path: path, Kind: fault.Unsupported, Err: fmt.Errorf("it says %q where a version should be", version),
			Hint: "Install Supabase CLI " + tested + "."}
	}
	for i, least := range oldest {
		n, err := strconv.Atoi(m[i+1])
		if err != nil || n > least {
			return nil
		}
		if n < least {
			return &fault.Error{Op: "find Supabase CLI", Path: path, Kind: fault.Unsupported,
				Err:  fmt.Errorf("Supabase CLI %s has no `stack` commands, which Forklift drives; %d.%d.%d or newer is needed", m[0], oldest[0], oldest[1], oldest[2]),
				Hint: "Upgrade it, as with `npm install --save-dev supabase@" + tested + "`."}
		}
	}
	return nil
}

// untested says in words that a version is not the one that was tested; "" for
// that one.
func untested(version string) string {
	if strings.TrimPrefix(version, "v") == tested {
		return ""
	}
	return fmt.Sprintf("Supabase CLI %s was not tested with this Forklift (%s was), and its stacks are an experiment of Supabase's that may change", version, tested)
}

// quiet are the variables that keep the CLI from asking for its newest version
// and from counting its use, both of which it notes in ~/.supabase.
var quiet = []string{"SUPABASE_NO_UPDATE_NOTIFIER=1", "SUPABASE_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1"}

// call is one run of the CLI.
type call struct {
	env   []string
	limit time.Duration
	op    string   // what it is for, in an error
	place string   // what it changes; "" for nothing
	held  *os.File // that it inherits; nil for nothing
}

// reply is what the CLI prints with --output-format json when it fails.
type reply struct {
	Tag   string `json:"_tag"`
	Error struct {
		Code       string `json:"code"`
		Message    string `json:"message"`
		Suggestion string `json:"suggestion"`
	} `json:"error"`
}

// run runs the CLI and gives the JSON that it printed. What it leaves running
// inherits nothing of ours. An error carries the CLI's own message.
func (p cli) run(ctx context.Context, c call, args ...string) (json.RawMessage, error) {
	if err := inherit.Nothing(); err != nil {
		return nil, &fault.Error{Op: c.op, Path: p.Path, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Env, cmd.Dir = c.env, "/"
	// A terminal's Ctrl-C is for Forklift, which ends the CLI in its own way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = killAfter
	stdout, stderr := &capped{}, &capped{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.held != nil {
		cmd.ExtraFiles = []*os.File{c.held}
	}
	if c.place != "" {
		failpoint.Hit("run", c.place)
	}
	err := cmd.Run()
	said := lastObject(stdout.Bytes())
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		return said, nil
	}
	return said, p.failure(ctx, c, said, stderr.String(), err)
}

// failure is the error of a run, in the CLI's own words.
func (p cli) failure(ctx context.Context, c call, said json.RawMessage, stderr string, err error) error {
	e := &fault.Error{Op: c.op, Path: programName, Kind: fault.Failed, Err: err}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		e.Kind, e.Err = fault.Canceled, context.Canceled
		return e
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Err = fmt.Errorf("not done after %s", c.limit)
		return e
	}
	var r reply
	if json.Unmarshal(said, &r) == nil && r.Error.Message != "" {
		e.Err, e.Hint = errors.New(redact(r.Error.Message)), redact(r.Error.Suggestion)
	} else if text := strings.TrimSpace(stderr); text != "" {
		e.Err = fmt.Errorf("%w: %s", err, redact(text))
	}
	if strings.Contains(e.Err.Error(), "No space left on device") {
		e.Kind = fault.NoSpace
	}
	if strings.Contains(e.Err.Error(), "in use by another process") || strings.Contains(r.Error.Code, "PortConflict") {
		e.Kind = fault.Busy
	}
	return e
}

var (
	urlPassword = regexp.MustCompile(`(\w+://[^:/@\s]+):[^@\s]+@`)
	keyText     = regexp.MustCompile(`sb_secret_\w+|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+`)
)

// redact takes passwords and keys out of what the CLI says.
func redact(text string) string {
	text = urlPassword.ReplaceAllString(text, "$1:[redacted]@")
	return keyText.ReplaceAllString(text, "[redacted]")
}

// lastObject is the JSON object that an output ends with; nil for none.
func lastObject(out []byte) json.RawMessage {
	out = bytes.TrimSpace(out)
	for at := 0; at >= 0 && at < len(out); {
		if out[at] == '{' && json.Valid(out[at:]) {
			return json.RawMessage(bytes.Clone(out[at:]))
		}
		next := bytes.IndexByte(out[at+1:], '{')
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
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

// isProgram reports a file that can be run.
func isProgram(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// sign notes which file the program is.
func (p *cli) sign() error {
	info, err := os.Stat(p.Path)
	if err != nil {
		return &fault.Error{Op: "find Supabase CLI", Path: p.Path, Err: err}
	}
	p.Size, p.Mtime = info.Size(), info.ModTime().UnixNano()
	return nil
}

// ask asks the program for its version.
func (p cli) ask(ctx context.Context, environ []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, "--version")
	cmd.Env, cmd.Dir = append(environ[:len(environ):len(environ)], quiet...), "/"
	cmd.WaitDelay = time.Second
	out := &capped{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return "", &fault.Error{Op: "find Supabase CLI", Path: p.Path, Kind: fault.Unsupported, Err: fmt.Errorf("it does not tell its version: %w: %s", err, redact(strings.TrimSpace(out.String()))),
			Hint: "Install Supabase CLI " + tested + "."}
	}
	m := versionText.FindString(out.String())
	if m == "" {
		return strings.TrimSpace(out.String()), nil
	}
	return m, nil
}
