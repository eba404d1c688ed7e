package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

const (
	// restTimeout is how long the processes of a stack have to be gone behind
	// the CLI's word that it is stopped; those of one whose supervisor was
	// killed end by themselves.
	restTimeout = time.Minute
	// settleTimeout is how long a look waits for processes that are ending.
	settleTimeout = 3 * time.Second
	pollEvery     = 20 * time.Millisecond

	maxOwnerBytes = 1 << 20
	// driveTimeout is how long a run of the CLI that was left behind by a killed
	// process is waited for.
	driveTimeout = 5 * time.Minute

	// hostMark stands in the command line of the CLI's supervisor.
	hostMark = "__supabase_stack_host__"
)

// launch is the record of the last start: which CLI, which slot, and what its
// status shows. It holds keys; it is only for us to read.
type launch struct {
	Slot   engine.Slot       `json:"slot"`
	Since  time.Time         `json:"since"`
	CLI    cli               `json:"cli"`
	Values map[string]string `json:"values"`
}

const (
	launchName   = "stack.json"
	launchKind   = "supabase-stack"
	launchFormat = 1
)

func (s *stack) runFile(name string) string { return path.Join(s.branch.RunDir(), name) }

// launchRecord reads the record of the last start; nil without one.
func (s *stack) launchRecord() *launch {
	var l launch
	if record.Read(s.fs, s.runFile(launchName), launchKind, launchFormat, &l) != nil {
		return nil
	}
	return &l
}

// owner is the pid of the supervisor of a slot's stack; 0 when none lives.
func (s *stack) owner(slot engine.Slot) (int, error) {
	name := path.Join(s.stackDir(slot), ownerName)
	data, err := durable.ReadFile(s.fs, name, maxOwnerBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.Wrap("read the stack's owner", name, err)
	}
	var o struct {
		PID int `json:"pid"`
	}
	if json.Unmarshal(data, &o) != nil || o.PID <= 0 {
		return 0, nil // it was being written by one that died
	}
	command := postgres.ProcessCommand(o.PID)
	if !strings.Contains(command, hostMark) || !strings.Contains(command, s.id) {
		return 0, nil // dead, and its number may be another's
	}
	return o.PID, nil
}

// sight is what one look at a branch shows.
type sight struct {
	slot  engine.Slot
	cli   bool // the CLI is at work for a process that was killed, or for another one
	owner int  // supervisor that lives; 0 for none
	pid   int  // process of PostgreSQL that lives although no supervisor does
}

// idle reports that nothing runs.
func (s sight) idle() bool { return !s.cli && s.owner == 0 && s.pid == 0 }

// drive takes the live lock. The CLI inherits it while it starts or stops the
// stack, so that one which outlives its caller is not taken for rest; the
// supervisor that it leaves does not. The lock is nil where the supervisor of
// some other version of the CLI has kept it.
func (s *stack) drive(ctx context.Context, op string) (vfs.Lock, error) {
	var lock vfs.Lock
	err := await(ctx, driveTimeout, func() (bool, error) {
		var err error
		if lock, err = s.fs.Lock(s.branch.Live, true); !errors.Is(err, vfs.ErrLocked) {
			return true, err
		}
		seen, err := s.supervised()
		return seen.owner != 0 && postgres.ProcessHolds(seen.owner, s.branch.Live), err
	})
	if errors.Is(err, clock.ErrWaited) {
		return nil, &fault.Error{Op: op, Path: s.branch.Dir, Kind: fault.Busy, Err: errors.New("the Supabase CLI is still starting or stopping the stack"),
			Hint: "Wait until it has ended, then try again."}
	}
	return lock, err
}

// release gives a lock of drive back; err goes first.
func release(lock vfs.Lock, err error) error {
	if lock == nil {
		return err
	}
	return errors.Join(err, lock.Unlock())
}

// heldFile is what the CLI inherits of a lock of drive.
func heldFile(lock vfs.Lock) *os.File {
	if lock == nil {
		return nil
	}
	return lock.File()
}

// driven reports that the CLI is at work. The lock is tried shared, so that
// two who look do not take each other for it.
func (s *stack) driven() (bool, error) {
	if _, err := s.fs.Lstat(s.branch.Live); errors.Is(err, fs.ErrNotExist) {
		return false, nil // looking makes no file
	}
	lock, err := s.fs.Lock(s.branch.Live, false)
	if errors.Is(err, vfs.ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, fault.Wrap("try the live lock", s.branch.Live, err)
	}
	return false, lock.Unlock()
}

// look tells whether anything runs, for one who does not drive the CLI.
func (s *stack) look() (sight, error) {
	cli, err := s.driven()
	if err != nil {
		return sight{}, err
	}
	seen, err := s.supervised()
	seen.cli = cli && seen.owner == 0
	return seen, err
}

// supervised tells which processes of the stack run.
func (s *stack) supervised() (sight, error) {
	for _, slot := range [...]engine.Slot{engine.SlotA, engine.SlotB} {
		pid, err := s.owner(slot)
		if err != nil {
			return sight{}, err
		}
		if pid != 0 {
			return sight{slot: slot, owner: pid}, nil
		}
	}
	for _, slot := range [...]engine.Slot{engine.SlotA, engine.SlotB} {
		if empty, err := s.dir.Empty(slot); err != nil || empty {
			continue
		}
		pid, err := s.dir.Occupant(slot)
		if err != nil {
			return sight{}, err
		}
		if pid != 0 {
			return sight{slot: slot, pid: pid}, nil
		}
	}
	return sight{}, nil
}

// State tells what the stack does.
func (s *stack) State(ctx context.Context, slot engine.Slot) (engine.Status, error) {
	s.selected = slot
	if err := s.follow(); err != nil {
		return engine.Status{}, err
	}
	var seen sight
	err := await(ctx, settleTimeout, func() (bool, error) {
		var err error
		seen, err = s.look()
		return seen.pid == 0 && !seen.cli, err
	})
	if err != nil && !errors.Is(err, clock.ErrWaited) {
		return engine.Status{}, err
	}
	switch {
	case seen.owner != 0:
		st := engine.Status{State: engine.Running, Slot: seen.slot, PID: seen.owner}
		if l := s.launchRecord(); l != nil && l.Slot == seen.slot {
			st.Since = l.Since
		}
		st.Version = s.version(seen.slot)
		return st, nil
	case seen.cli: // it starts, or does not stop for long: Start and Stop wait for that
		return engine.Status{State: engine.Running, Slot: slot}, nil
	case seen.pid != 0:
		return engine.Status{State: engine.Unclean, Slot: seen.slot, PID: seen.pid}, nil
	}
	st := engine.Status{State: engine.Unclean, Slot: slot}
	empty, err := s.dir.Empty(slot)
	if err != nil {
		return engine.Status{}, err
	}
	if empty || s.dir.Clean(slot) {
		st.State = engine.AtRest
	}
	st.Version = s.version(slot)
	return st, nil
}

// version is PostgreSQL's in a slot, "" when it cannot be told.
func (s *stack) version(slot engine.Slot) string {
	major, err := s.dir.Major(slot)
	if err != nil {
		return ""
	}
	return fmt.Sprint(major)
}

// await calls done until it is true, and ends with clock.ErrWaited after limit.
func await(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	return clock.Until(ctx, "wait for the stack", pollEvery, limit, done)
}

// Start starts the stack on a slot and returns once its database accepts
// connections; the CLI starts the other services when they are first asked for.
// After an error nothing runs that was not running before, except when the
// error says so.
func (s *stack) Start(ctx context.Context, slot engine.Slot) error {
	s.selected = slot
	lock, err := s.drive(ctx, "start stack")
	if err != nil {
		return err
	}
	return release(lock, s.startDriven(ctx, slot, lock))
}

// startDriven is Start for one who holds the lock of drive.
func (s *stack) startDriven(ctx context.Context, slot engine.Slot, lock vfs.Lock) error {
	seen, err := s.supervised()
	if err != nil {
		return err
	}
	if seen.owner != 0 {
		if seen.slot != slot {
			return &fault.Error{Op: "start stack", Path: s.home(slot), Kind: fault.Busy, Err: fmt.Errorf("it runs on slot %s", seen.slot),
				Hint: "Stop it first: `forklift db stop`."}
		}
		if s.launchRecord() != nil {
			return nil
		}
	}
	p, err := s.program(ctx)
	if err != nil {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "start stack"})
	// Where a supervisor lives, its starter was killed before it knew what was
	// started: the CLI waits for what it finds.
	if seen.owner == 0 {
		if err := s.prepare(slot, seen); err != nil {
			return err
		}
	}
	if err := s.start(ctx, p, slot, lock); err != nil {
		return errors.Join(err, s.abandon(ctx, slot, lock))
	}
	return nil
}

// prepare makes everything that the CLI finds when it starts a slot's stack.
func (s *stack) prepare(slot engine.Slot, seen sight) error {
	project, err := s.project()
	if err != nil {
		return err
	}
	if err := s.prepareHome(slot); err != nil {
		return err
	}
	// What was left by a stop that was not ours, or that was interrupted.
	if seen.pid == 0 {
		if err := s.harvest(slot); err != nil {
			return err
		}
	}
	// From here on it does not count for this slot any more.
	if err := s.forgetLaunch(); err != nil {
		return err
	}
	lock, err := s.capturedFile(slot, path.Base(lockName), maxLockBytes)
	if err != nil {
		return err
	}
	ports, err := s.ports()
	if err != nil {
		return err
	}
	if err := s.overlay.derive(project, ports, lock); err != nil {
		return err
	}
	if err := s.pointHome(slot); err != nil {
		return err
	}
	return s.materialise(slot)
}

// forgetLaunch removes the record of the last start, durably.
func (s *stack) forgetLaunch() error {
	name := s.runFile(launchName)
	if _, err := s.fs.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.Wrap("remove", name, durable.Remove(s.fs, name))
}

// start runs the CLI and records what it started.
func (s *stack) start(ctx context.Context, p cli, slot engine.Slot, lock vfs.Lock) error {
	args := []string{"stack", "start", "--runtime", nativeRuntime}
	if len(s.options.Exclude) > 0 {
		args = append(args, "--exclude", strings.Join(s.options.Exclude, ","))
	}
	env, err := s.environment(slot)
	if err != nil {
		return err
	}
	said, err := p.run(ctx, call{env: env, limit: startTimeout, op: "start stack", place: s.home(slot), held: heldFile(lock)}, s.args(args...)...)
	if err != nil {
		return s.explain(err)
	}
	if _, err := s.readState(slot); err != nil {
		return err
	}
	if pid, err := s.owner(slot); err != nil || pid == 0 {
		return errors.Join(err, &fault.Error{Op: "start stack", Path: s.stackDir(slot), Kind: fault.Unsupported,
			Err:  errors.New("the CLI keeps the stack in another place than Forklift knows"),
			Hint: "Use Supabase CLI " + tested + ", the version that Forklift was tested with."})
	}
	if values, err := parseValues(said); err == nil {
		return s.writeLaunch(slot, p, values)
	}
	return s.recordLaunch(ctx, slot)
}

// explain adds what to do about a port that somebody else has.
func (s *stack) explain(err error) error {
	if fault.KindOf(err) != fault.Busy {
		return err
	}
	ports, portsErr := s.ports()
	if portsErr != nil {
		return err
	}
	e := &fault.Error{Op: "start stack", Kind: fault.Busy, Err: err,
		Hint: "End the program that has the port. The stack keeps its ports, so that its addresses stay the same."}
	for _, table := range portTables {
		e.Items = append(e.Items, postgres.PortHolders(ports[table])...)
	}
	return e
}

// recordLaunch asks a running stack for its addresses and keys, and writes the
// record of its start.
func (s *stack) recordLaunch(ctx context.Context, slot engine.Slot) error {
	p, env, err := s.caller(ctx, slot)
	if err != nil {
		return err
	}
	said, err := p.run(ctx, call{env: env, limit: statusTimeout, op: "ask stack"}, s.args("stack", "status", "--env")...)
	if err != nil {
		return err
	}
	values, err := parseValues(said)
	if err != nil {
		return err
	}
	return s.writeLaunch(slot, p, values)
}

func (s *stack) writeLaunch(slot engine.Slot, p cli, values map[string]string) error {
	l := launch{Slot: slot, Since: s.deps.Clock.Now(), CLI: p, Values: values}
	return record.Write(s.fs, s.runFile(launchName), launchKind, launchFormat, l)
}

// known sees to it that the addresses of the running stack are recorded: who
// started it may have been killed before. It waits for the CLI's end.
func (s *stack) known(ctx context.Context) error {
	if s.launchRecord() != nil {
		return nil
	}
	lock, err := s.drive(ctx, "ask stack")
	if err != nil {
		return err
	}
	seen, err := s.supervised()
	if err == nil && seen.owner != 0 {
		err = s.recordLaunch(ctx, seen.slot)
	}
	return release(lock, err)
}

// args are the CLI's arguments with those that every call has.
func (s *stack) args(args ...string) []string {
	return append(args, "--workdir", s.overlay.dir, "--output-format", "json")
}

// abandon stops what a failed start left running.
func (s *stack) abandon(ctx context.Context, slot engine.Slot, lock vfs.Lock) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	seen, err := s.supervised()
	if err != nil || seen.idle() {
		return err
	}
	return s.stop(ctx, slot, lock)
}

// Stop stops the stack and returns once nothing of it is left, and what of its
// settings is saved lies beside the data. Stopping a stopped one is no error.
func (s *stack) Stop(ctx context.Context) error {
	if seen, err := s.look(); err != nil || seen.idle() {
		return err
	}
	lock, err := s.drive(ctx, "stop stack")
	if err != nil {
		return err
	}
	return release(lock, s.stopDriven(ctx, lock))
}

// stopDriven is Stop for one who holds the lock of drive.
func (s *stack) stopDriven(ctx context.Context, lock vfs.Lock) error {
	seen, err := s.supervised()
	if err != nil || seen.idle() {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "stop stack"})
	if err := s.stop(ctx, seen.slot, lock); err != nil {
		return err
	}
	return s.harvest(seen.slot)
}

// stop has the CLI stop a slot's stack, and proves that nothing of it is left.
func (s *stack) stop(ctx context.Context, slot engine.Slot, lock vfs.Lock) error {
	p, env, err := s.caller(ctx, slot)
	if err != nil {
		return err
	}
	_, stopErr := p.run(ctx, call{env: env, limit: stopTimeout, op: "stop stack", place: s.home(slot), held: heldFile(lock)}, s.args("stack", "stop", "--stack-id", s.id)...)
	if stopErr != nil && ctx.Err() != nil {
		return stopErr
	}
	err = await(ctx, restTimeout, func() (bool, error) {
		seen, err := s.supervised()
		return seen.idle(), err
	})
	if !errors.Is(err, clock.ErrWaited) {
		return err // the CLI may complain about a stack that ended by itself
	}
	seen, lookErr := s.supervised()
	e := &fault.Error{Op: "stop stack", Path: s.home(slot), Kind: fault.Busy, Err: errors.New("its processes are still there"), Hint: "Wait, or end them yourself; then try again."}
	for _, pid := range []int{seen.owner, seen.pid} {
		if pid != 0 {
			e.Items = append(e.Items, fmt.Sprintf("%d %s", pid, postgres.ProcessCommand(pid)))
		}
	}
	return errors.Join(stopErr, e, lookErr)
}

// server is the address of the running database.
func (s *stack) server() (postgres.Server, error) {
	l := s.launchRecord()
	if l == nil {
		return postgres.Server{}, &fault.Error{Op: "connect to database", Path: s.branch.Dir, Kind: fault.NotFound, Err: errors.New("the stack was not started yet"), Hint: "Run `forklift db start`."}
	}
	u, err := url.Parse(l.Values[dbURL])
	if err != nil || u.Hostname() == "" {
		return postgres.Server{}, &fault.Error{Op: "connect to database", Kind: fault.Unsupported, Err: errors.New("the CLI's status has no " + dbURL)}
	}
	password, _ := u.User.Password()
	return postgres.Server{Host: u.Hostname(), Port: u.Port(), Password: engine.Secret(password)}, nil
}

// parseValues reads what the CLI's status shows: names and texts.
func parseValues(said json.RawMessage) (map[string]string, error) {
	var all map[string]any
	if err := json.Unmarshal(said, &all); err != nil {
		return nil, &fault.Error{Op: "ask stack", Kind: fault.Unsupported, Err: fmt.Errorf("its status is no JSON object: %w", err), Hint: "Use Supabase CLI " + tested + "."}
	}
	values := map[string]string{}
	collect(all, values)
	if values[dbURL] == "" {
		return nil, &fault.Error{Op: "ask stack", Kind: fault.Unsupported, Err: errors.New("its status has no " + dbURL), Hint: "Use Supabase CLI " + tested + "."}
	}
	return values, nil
}

// collect takes the texts whose names are variables', wherever they stand.
func collect(from map[string]any, into map[string]string) {
	for name, v := range from {
		switch v := v.(type) {
		case string:
			if valueName.MatchString(name) {
				into[name] = v
			}
		case map[string]any:
			collect(v, into)
		}
	}
}

// Remove has the CLI give up the stack: it keeps a table of ports that it
// gave out. The branch's directory goes anyway, so an error of that is none.
func (s *stack) Remove(ctx context.Context) error {
	for _, slot := range [...]engine.Slot{engine.SlotA, engine.SlotB} {
		if _, err := s.fs.Lstat(path.Join(s.stackDir(slot), stateName)); err != nil {
			continue
		}
		p, err := s.program(ctx)
		if err != nil {
			return nil
		}
		env, err := s.environment(slot)
		if err != nil {
			return nil
		}
		_, _ = p.run(ctx, call{env: env, limit: stopTimeout, op: "destroy stack", place: s.home(slot)}, s.args("stack", "destroy", "--stack-id", s.id, "--yes")...)
	}
	return nil
}

// caller is the CLI and the environment in which it acts on a slot's stack.
func (s *stack) caller(ctx context.Context, slot engine.Slot) (cli, []string, error) {
	p, err := s.program(ctx)
	if err != nil {
		return cli{}, nil, err
	}
	env, err := s.environment(slot)
	return p, env, err
}
