package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"forklift/engine/config"
	"forklift/engine/trust"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

const verbRecover = "recover"

// The names of the hooks.
const (
	HookStop  = "stop"
	HookStart = "start"
)

const (
	// HookNotRunning is the exit code with which a stop hook says that there
	// was nothing to stop. It is what init scripts and systemctl answer.
	HookNotRunning = 3
	// stopWait is how long managed commands have to end behind a stop hook,
	// also when the user asked for no wait: a hook may only send a signal.
	stopWait = 10 * time.Second
	// maxHookItems bounds the last lines of a hook's output in an error.
	maxHookItems = 10
)

// HookRun is a hook that is to be run.
type HookRun struct {
	Hook  string        // HookStop or HookStart
	Verb  string        // of the operation that it is run for
	Argv  []string      // program and arguments, without a shell
	Dir   string        // where it runs: the worktree
	Vars  []EnvVar      // what `run` gives its commands
	Limit time.Duration // after it the hook and all it has started are killed
	Log   string        // the file that takes its output; what was there before is replaced
}

// HookEnd says how a hook ended.
type HookEnd struct {
	ExitCode int    // its own; 128 + number for a signal
	Signal   string // that ended it
	TimedOut bool   // it was killed at its limit
	Output   string // the end of what it printed
}

// HookRunner runs a hook and returns when the hook's own process has ended;
// what it left running in the background goes on. A canceled context kills the
// hook and all it has started. The error is of a hook that could not be run.
type HookRunner func(ctx context.Context, h HookRun) (HookEnd, error)

// HookResult describes a hook that was run.
type HookResult struct {
	Hook     string `json:"hook"` // stop or start
	ExitCode int    `json:"exit_code"`
	WallMs   int64  `json:"wall_ms"`
	Output   string `json:"output,omitempty"` // the end of what it printed
}

// stoppedApp is the record that the app of a worktree was, or is being,
// stopped for an operation. It is durable before the stop hook begins, and
// removed when the start hook has succeeded or nothing was stopped.
type stoppedApp struct {
	Verb  string    `json:"verb"`
	Since time.Time `json:"since"`
}

// stopOutcome is what a stop hook told.
type stopOutcome int

const (
	stopUnasked stopOutcome = iota // there is no stop hook
	stopDone                       // it ended with 0: the app does not run any more
	stopNothing                    // it ended with HookNotRunning
	stopFailed                     // it failed, and has stopped nothing
	stopUnknown                    // it was killed in the middle
)

// hooks are the hooks around one operation. A nil *hooks does nothing.
type hooks struct {
	w    *Worktree
	verb string
	off  bool         // --no-hooks
	cfg  *config.File // as it was read, and approved, at the start; nil: it cannot be read

	unlock  func()          // hooks.lock
	carried bool            // an earlier operation left the app stopped
	noted   bool            // the record is there
	held    map[string]bool // ids of the managed commands at the start
	agreed  bool            // the user approved cfg
	outcome stopOutcome
	runs    []HookResult
}

// newHooks prepares the hooks of an operation; nothing is run yet. cfg is nil
// when it cannot be read, which only recover passes over.
func (w *Worktree) newHooks(verb string, cfg *config.File, opt WaitOptions) *hooks {
	return &hooks{w: w, verb: verb, cfg: cfg, off: opt.NoHooks}
}

// none reports that there is no hook to run.
func (h *hooks) none() bool {
	return h == nil || h.off || h.cfg == nil || len(h.cfg.Hooks.Stop)+len(h.cfg.Hooks.Start) == 0
}

// lock keeps the hooks of two operations from running into each other. It
// is taken before operation.lock, which is free again while a start hook runs,
// so that what the hook starts can register.
func (h *hooks) lock(ctx context.Context, wait time.Duration) error {
	if h.none() {
		return nil
	}
	lock, err := lockWithin(ctx, h.w.fs, h.w.file(hooksLock), true, wait)
	if err == nil {
		h.unlock = func() { _ = lock.Unlock() }
		return nil
	}
	if !errors.Is(err, vfs.ErrLocked) {
		return fault.Wrap("lock hooks", h.w.file(hooksLock), err)
	}
	busy := h.w.busyOperation(h.verb)
	var e *fault.Error
	if errors.As(busy, &e) {
		e.Err = errors.New("another operation runs the hooks of this worktree")
	}
	return busy
}

// before runs the stop hook. The caller holds operation.lock; nothing has
// been changed yet, and nothing is when it fails.
func (h *hooks) before(ctx context.Context) error {
	if h.none() {
		return nil
	}
	if err := h.look(); err != nil || h.verb == verbRecover && !h.carried {
		return err
	}
	if err := h.approved(); err != nil {
		return err
	}
	h.agreed = true
	if len(h.cfg.Hooks.Start) > 0 && (len(h.cfg.Hooks.Stop) > 0 || len(h.held) > 0) && !h.noted {
		note := stoppedApp{Verb: h.verb, Since: h.w.host.Clock.Now()}
		h.noted = true // also when the write fails: it may be there
		if err := record.Write(h.w.fs, h.w.file(appFile), "stopped app", recordFormat, note); err != nil {
			return err
		}
	}
	if len(h.cfg.Hooks.Stop) == 0 {
		return nil
	}
	return h.stop(ctx)
}

// look finds out what ran before the operation.
func (h *hooks) look() error {
	if h.verb != verbRecover {
		if err := h.w.refuseInterrupted(h.verb); err != nil {
			return err
		}
	}
	var app stoppedApp
	var err error
	if h.carried, err = h.w.readOptional(appFile, "stopped app", &app); err != nil {
		return fault.Wrap(h.verb, h.w.file(appFile), err)
	}
	h.noted = h.carried
	all, err := h.w.holders()
	if err != nil {
		return err
	}
	h.held = map[string]bool{}
	for _, holder := range h.w.strangers(all) {
		h.held[holder.id] = true
	}
	return nil
}

// approved fails unless the user approved the very content that the hooks
// were read from.
func (h *hooks) approved() error {
	ok, err := trust.Approved(h.w.fs, h.w.host.StateDir, h.w.rec.ID, path.Join(h.w.rec.Path, config.Name), h.cfg.Content)
	if err != nil || ok {
		return err
	}
	return &fault.Error{Op: h.verb, Path: h.w.rec.Path, Kind: fault.Untrusted,
		Err:  errors.New("the hooks of .forklift.json are not approved in this worktree"),
		Hint: "Read them with `forklift trust --show`, then approve them with `forklift trust`; or stop the app yourself and give --no-hooks."}
}

func (h *hooks) stop(ctx context.Context) error {
	end, err := h.run(ctx, HookStop, h.cfg.Hooks.Stop)
	switch {
	case ctx.Err() != nil:
		h.outcome = stopUnknown
		return canceled(ctx)
	case err == nil && end.TimedOut:
		h.outcome = stopUnknown
	case err == nil && end.ExitCode == HookNotRunning:
		h.outcome = stopNothing
		return nil
	case err == nil && end.ExitCode == 0:
		h.outcome = stopDone
		return nil
	default:
		h.outcome = stopFailed
	}
	return h.failed(HookStop, end, err, fault.Failed,
		"Nothing was changed. Mend the hook, or stop the app yourself and give --no-hooks.")
}

// wait is how long to wait for managed commands.
func (h *hooks) wait(asked time.Duration) time.Duration {
	if h != nil && h.outcome == stopDone {
		return max(asked, stopWait)
	}
	return asked
}

// due reports whether the app ran and does not any more: the stop hook said
// so, or a managed command of the start is gone. An app that an earlier
// operation did not start again counts as one that ran.
func (h *hooks) due() (bool, error) {
	switch {
	case h.outcome == stopDone:
		return true, nil
	case h.outcome == stopNothing:
		return h.carried, nil
	case h.outcome == stopUnasked && h.carried:
		return true, nil
	}
	all, err := h.w.holders()
	if err != nil {
		return true, err
	}
	still := 0
	for _, holder := range all {
		if h.held[holder.id] {
			still++
		}
	}
	return still < len(h.held), nil
}

// after runs the start hook if the app is to run again, once all other locks
// are released. err is how the operation ended, and stays in front of what
// the hook does. While a journal is left the app stays stopped: recover
// starts it.
func (h *hooks) after(ctx context.Context, subject string, err error) error {
	if h == nil {
		return err
	}
	if h.unlock != nil {
		defer h.unlock()
	}
	if h.verb == verbRecover && err == nil && (h.off || h.cfg != nil && h.none()) {
		return h.forget(nil) // the user sees to the app
	}
	if h.none() || !h.agreed {
		return err
	}
	if j, readErr := h.w.readJournal(); readErr != nil || j != nil {
		return err
	}
	// The app was stopped, whoever has lost patience meanwhile.
	ctx = context.WithoutCancel(ctx)
	due, dueErr := h.due()
	switch {
	case dueErr == nil && !due && (h.carried || h.outcome == stopUnknown):
		return err // recover, or the next operation, sees to the app
	case dueErr == nil && (!due || len(h.cfg.Hooks.Start) == 0):
		return h.forget(err)
	}
	end, startErr := HookEnd{}, dueErr
	if startErr == nil {
		end, startErr = h.start(ctx)
	}
	if startErr == nil && end.ExitCode == 0 && !end.TimedOut {
		return h.forget(err)
	}
	failed := h.failed(HookStart, end, startErr, fault.StartHook,
		"The "+h.verb+" itself is done. Mend the hook; then `forklift recover` starts the app.")
	if err != nil {
		return errors.Join(err, fmt.Errorf("and the app was not started again: %w", failed))
	}
	if subject == "" {
		subject = "it"
	}
	failed.Path, failed.Err = "", fmt.Errorf("%s is done, but %w", subject, failed.Err)
	return failed
}

// start makes sure that the server runs, as `run` does, and runs the hook.
func (h *hooks) start(ctx context.Context) (HookEnd, error) {
	unlock, err := h.w.shareOperation(ctx, "start hook", enterWait)
	if err != nil {
		return HookEnd{}, err
	}
	_, err = h.w.startServer(ctx, h.w.selectedSlot)
	unlock()
	if err != nil {
		return HookEnd{}, err
	}
	return h.run(ctx, HookStart, h.cfg.Hooks.Start)
}

// run runs a hook within its limit.
func (h *hooks) run(ctx context.Context, hook string, argv []string) (HookEnd, error) {
	if h.w.host.RunHook == nil {
		return HookEnd{}, &fault.Error{Kind: fault.Unsupported, Err: errors.New("hooks cannot be run from here")}
	}
	vars, err := h.w.db.Env(ctx, h.cfg.ConnectionEnv)
	if err != nil {
		return HookEnd{}, err
	}
	progress.Report(ctx, progress.Event{Phase: hook + " hook"})
	began := h.w.host.Clock.Now()
	end, err := h.w.host.RunHook(ctx, HookRun{Hook: hook, Verb: h.verb, Argv: argv, Dir: h.w.rec.Path, Vars: vars,
		Limit: h.cfg.Hooks.Limit, Log: h.w.file("hook-" + hook + ".log")})
	if err == nil {
		h.runs = append(h.runs, HookResult{Hook: hook, ExitCode: end.ExitCode, Output: end.Output,
			WallMs: h.w.host.Clock.Now().Sub(began).Milliseconds()})
	}
	return end, err
}

// failed is the error of a hook, with the last lines that it printed.
func (h *hooks) failed(hook string, end HookEnd, err error, kind fault.Kind, hint string) *fault.Error {
	e := &fault.Error{Op: h.verb, Path: h.w.rec.Path, Kind: kind, Hint: hint}
	switch {
	case err != nil:
		e.Err = fmt.Errorf("the %s hook failed: %w", hook, err)
	case end.TimedOut:
		e.Err = fmt.Errorf("the %s hook was killed: it took longer than %s", hook, h.cfg.Hooks.Limit)
	case end.Signal != "":
		e.Err = fmt.Errorf("the %s hook failed: %s", hook, end.Signal)
	default:
		e.Err = fmt.Errorf("the %s hook failed: exit code %d", hook, end.ExitCode)
	}
	lines := strings.Split(strings.TrimRight(end.Output, "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-maxHookItems):] {
		if line != "" {
			e.Items = append(e.Items, line)
		}
	}
	return e
}

// forget removes the record: there is no app to be started.
func (h *hooks) forget(err error) error {
	if _, statErr := h.w.fs.Lstat(h.w.file(appFile)); !h.noted && errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	if rmErr := h.w.removeRecord(appFile); rmErr != nil {
		rmErr = &fault.Error{Op: h.verb, Kind: fault.StartHook, Err: fmt.Errorf("done, but its record of the app stays: %w", rmErr),
			Hint: "The next operation, or `forklift recover`, runs the start hook once more."}
		return errors.Join(err, rmErr)
	}
	return err
}

// StoppedApp tells of an app that was stopped for an operation and does not
// run again.
type StoppedApp struct {
	Verb  string    `json:"verb"`
	Since time.Time `json:"since"`
}

// stoppedApp is nil when there is none, or while an operation that will start
// it runs its hooks.
func (w *Worktree) stoppedApp() (*StoppedApp, error) {
	var app stoppedApp
	there, err := w.readOptional(appFile, "stopped app", &app)
	if err != nil || !there {
		return nil, err
	}
	lock, err := w.fs.Lock(w.file(hooksLock), false)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_ = lock.Unlock()
	return &StoppedApp{Verb: app.Verb, Since: app.Since}, nil
}

// subject is what an operation was about, for messages.
func (op *operation) subject() string {
	switch {
	case op.j == nil:
		return ""
	case op.j.restores():
		return op.j.TargetName
	}
	return op.j.PairName
}
