package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forklift/engine"
	"forklift/engine/internal/process"
	"forklift/storage/fault"
)

// eventually waits for what must come true within a few seconds.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := poll(context.WithoutCancel(t.Context()), 20*time.Second, func() (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// kill ends a process without any warning.
func kill(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGKILL))
}

func TestServerIsKilled(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE TABLE t (n int)")
	for i := range 3 {
		sql(t, c, "INSERT INTO t VALUES (1)")
		kill(t, wantState(t, c, engine.SlotA, engine.Running).PID)
		eventually(t, "the live lock is free", func() bool { s, err := c.see(); return err == nil && s.free })
		wantState(t, c, engine.SlotA, engine.Unclean)
		if _, err := os.Stat(c.slotDir(engine.SlotA) + "/postmaster.pid"); err != nil {
			t.Fatal("a killed server leaves its pid file: ", err)
		}
		if _, err := c.Trees(t.Context(), engine.SlotA, false); err == nil {
			t.Fatal("an unclean cluster can be captured")
		}
		at := time.Now()
		must(t, c.Start(t.Context(), engine.SlotA))
		took(t, "start after kill -9", at)
		if got := value(t, c, "SELECT count(*)::text FROM public.t"); got != strconv.Itoa(i+1) {
			t.Fatalf("%s rows survived, want %d", got, i+1)
		}
	}
}

// TestBackendIsKilled has a server that starts over because a backend of it
// crashed; its pid file says ready meanwhile. A start waits for it.
func TestBackendIsKilled(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE TABLE t AS SELECT generate_series(1, 20000) AS n")
	witness, err := c.connect(t.Context(), "")
	must(t, err)
	defer witness.close()
	victim, err := c.connect(t.Context(), "")
	must(t, err)
	defer victim.close()
	kill(t, int(victim.PgConn().PID()))
	eventually(t, "the server ends its other sessions", func() bool { return witness.exec(t.Context(), "SELECT 1") != nil })
	must(t, c.Start(t.Context(), engine.SlotA))
	if got := value(t, c, "SELECT count(*)::text FROM public.t"); got != "20000" {
		t.Fatalf("%s rows survived, want 20000", got)
	}
}

// TestStalePIDs starts servers over pid files that PostgreSQL itself refuses:
// their pid lives, but is another process's or a zombie's.
func TestStalePIDs(t *testing.T) {
	c := started(t)
	zombie := exec.Command("true")
	must(t, zombie.Start())
	t.Cleanup(func() { _ = zombie.Wait() })
	eventually(t, "a zombie", func() bool { info, err := process.Lookup(zombie.Process.Pid); return err == nil && info.Zombie })
	sleeper := exec.Command("sleep", "600")
	must(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })

	for name, pid := range map[string]int{"zombie": zombie.Process.Pid, "reused": sleeper.Process.Pid, "dead": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			file := c.slotDir(engine.SlotA) + "/postmaster.pid"
			running := wantState(t, c, engine.SlotA, engine.Running).PID
			text, err := os.ReadFile(file)
			must(t, err)
			kill(t, running)
			eventually(t, "the live lock is free", func() bool { s, err := c.see(); return err == nil && s.free })
			stale := strings.Replace(string(text), strconv.Itoa(running), strconv.Itoa(pid), 1)
			must(t, os.WriteFile(file, []byte(stale), 0o600))
			socket, err := c.socketDir(t.Context())
			must(t, err)
			must(t, os.WriteFile(filepath.Join(socket, socketFile+".lock"), []byte(stale), 0o600))
			wantState(t, c, engine.SlotA, engine.Unclean)
			must(t, c.Start(t.Context(), engine.SlotA))
		})
	}
}

// TestOrphanHoldsLive kills the postmaster while a program that a backend
// started goes on: nothing may start, and rest is not reported, before it ends.
func TestOrphanHoldsLive(t *testing.T) {
	c := started(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(fifo, 0o666))
	copying := make(chan error, 1)
	conn, err := c.connect(t.Context(), "")
	must(t, err)
	defer conn.close()
	go func() {
		copying <- conn.exec(context.WithoutCancel(t.Context()), "COPY (SELECT 1) TO PROGRAM 'cat "+fifo+"'")
	}()
	var orphan int
	eventually(t, "the program runs", func() bool {
		out, _ := exec.Command("pgrep", "-f", "cat "+fifo).Output()
		for _, line := range strings.Fields(string(out)) {
			pid, _ := strconv.Atoi(line)
			if text, _ := os.ReadFile("/proc/" + line + "/cmdline"); strings.HasPrefix(string(text), "cat\x00") {
				orphan = pid
			}
		}
		return orphan != 0
	})
	postmaster := wantState(t, c, engine.SlotA, engine.Running).PID
	kill(t, postmaster)
	eventually(t, "the postmaster is gone", func() bool { return !process.Alive(postmaster, 0) })
	wantState(t, c, engine.SlotA, engine.Unclean)
	err = c.Start(t.Context(), engine.SlotA)
	if fault.KindOf(err) != fault.Busy || !strings.Contains(strings.Join(fault.ItemsOf(err), "\n"), "cat "+fifo) {
		t.Fatalf("start beside an orphan: %v %v", err, fault.ItemsOf(err))
	}
	if _, err := c.Trees(t.Context(), engine.SlotA, false); fault.KindOf(err) != fault.Busy {
		t.Fatalf("capture beside an orphan: %v", err)
	}
	kill(t, orphan)
	must(t, c.Start(t.Context(), engine.SlotA))
	<-copying
}

// foreignServer starts a server as a user would, without Forklift.
func foreignServer(t *testing.T, c *cluster, slot engine.Slot) *exec.Cmd {
	t.Helper()
	inst := c.running()
	id, err := c.identity(t.Context())
	must(t, err)
	cmd := exec.Command(filepath.Join(inst.Bin, "postgres"), "-D", c.slotDir(slot), "-c", "listen_addresses=", "-c", "unix_socket_directories="+t.TempDir())
	cmd.SysProcAttr = id.attr()
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGINT); _ = cmd.Wait() })
	eventually(t, "the foreign server is ready", func() bool { f, err := c.readPIDFile(slot); return err == nil && f.ready(cmd.Process.Pid) })
	return cmd
}

func TestForeignServer(t *testing.T) {
	c := initialised(t)
	must(t, c.Start(t.Context(), engine.SlotA)) // so that there is a record
	must(t, c.Stop(t.Context()))
	cmd := foreignServer(t, c, engine.SlotA)
	if st := wantState(t, c, engine.SlotA, engine.Foreign); st.PID != cmd.Process.Pid {
		t.Errorf("pid %d, want %d", st.PID, cmd.Process.Pid)
	}
	for what, err := range map[string]error{"start": c.Start(t.Context(), engine.SlotA), "stop": c.Stop(t.Context())} {
		if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), strconv.Itoa(cmd.Process.Pid)) {
			t.Errorf("%s: %v, want busy with the pid", what, err)
		}
	}
	if _, err := c.Trees(t.Context(), engine.SlotA, false); err == nil {
		t.Error("a cluster with a foreign server can be captured")
	}
	if !process.Alive(cmd.Process.Pid, 0) {
		t.Fatal("the foreign server was ended")
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	must(t, c.Start(t.Context(), engine.SlotA))
}

// TestStarterIsKilled takes away what only the starter could have written:
// the server must be found, served and stopped without it.
func TestStarterIsKilled(t *testing.T) {
	for name, spoil := range map[string]func(c *cluster){
		"before the pid was recorded": func(c *cluster) {
			rec, err := c.readOwner()
			must(t, err)
			rec.PID, rec.Began = 0, 0
			must(t, c.writeOwner(*rec))
		},
		"record lost":    func(c *cluster) { must(t, os.Remove(c.runFile(ownerName))) },
		"record damaged": func(c *cluster) { must(t, os.WriteFile(c.runFile(ownerName), []byte("{"), 0o600)) },
		"record of another boot": func(c *cluster) {
			rec, err := c.readOwner()
			must(t, err)
			rec.BootID = "another"
			must(t, c.writeOwner(*rec))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := started(t)
			pid := wantState(t, c, engine.SlotA, engine.Running).PID
			spoil(c)
			if st := wantState(t, c, engine.SlotA, engine.Running); st.PID != pid {
				t.Errorf("pid %d, want %d", st.PID, pid)
			}
			must(t, c.Start(t.Context(), engine.SlotA))
			must(t, c.Stop(t.Context()))
			wantState(t, c, engine.SlotA, engine.AtRest)
			// A process lets go of its lock a moment before the kernel has ended it.
			eventually(t, "the process has ended", func() bool { return !process.Alive(pid, 0) })
		})
	}
}

// TestInitdbOutlivesItsCaller holds the live lock as an initdb does whose caller was
// killed: a stop, which goes before the removal of the files, waits for it.
func TestInitdbOutlivesItsCaller(t *testing.T) {
	c := branch(t, options(t))
	must(t, c.ensureRunDir())
	lock, err := c.opt.FS.Lock(c.branch.Live, true)
	must(t, err)
	left := exec.Command("cat")
	in, err := left.StdinPipe()
	must(t, err)
	left.ExtraFiles = []*os.File{lock.File()}
	must(t, left.Start())
	must(t, lock.Unlock())
	stopped := make(chan error, 1)
	go func() { stopped <- c.Stop(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-stopped:
		t.Fatalf("the stop did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	must(t, in.Close())
	must(t, left.Wait())
	must(t, <-stopped)
}

// TestReusedPIDIsNotSignalled records a pid of a process that is not the
// server; a stop must find the real one and leave that alone.
func TestReusedPIDIsNotSignalled(t *testing.T) {
	c := started(t)
	sleeper := exec.Command("sleep", "600")
	must(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	rec, err := c.readOwner()
	must(t, err)
	rec.PID = sleeper.Process.Pid // with the start time of the server
	must(t, c.writeOwner(*rec))
	must(t, c.Stop(t.Context()))
	if !process.Alive(sleeper.Process.Pid, 0) {
		t.Error("the sleeper was signalled")
	}
	wantState(t, c, engine.SlotA, engine.AtRest)
}

func TestStartFails(t *testing.T) {
	c := initialised(t)
	conf := c.slotDir(engine.SlotA) + "/postgresql.auto.conf"
	must(t, os.WriteFile(conf, []byte("shared_preload_libraries = 'not_there'\n"), 0o600))
	err := c.Start(t.Context(), engine.SlotA)
	var e *fault.Error
	if fault.KindOf(err) != fault.Unsupported || !errors.As(err, &e) || !strings.Contains(err.Error(), "not_there") || len(fault.ItemsOf(err)) == 0 {
		t.Errorf("start with a missing library: %v %v", err, fault.ItemsOf(err))
	}
	wantState(t, c, engine.SlotA, engine.AtRest)
	must(t, os.WriteFile(conf, nil, 0o600))
	must(t, c.Start(t.Context(), engine.SlotA))

	ctx, cancel := context.WithCancel(t.Context())
	must(t, c.Stop(t.Context()))
	cancel()
	if err := c.Start(ctx, engine.SlotA); fault.KindOf(err) != fault.Canceled {
		t.Errorf("start with a cancelled context: %v", err)
	}
	wantState(t, c, engine.SlotA, engine.AtRest)
}

// TestNothingElseIsInherited starts a server from a process that holds a lock
// of its own, not marked close-on-exec: the server must not keep it.
func TestNothingElseIsInherited(t *testing.T) {
	c := initialised(t)
	name := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	inherited, err := syscall.Dup(int(f.Fd())) // without close-on-exec
	must(t, err)
	defer syscall.Close(inherited)
	must(t, c.Start(t.Context(), engine.SlotA))
	pid := wantState(t, c, engine.SlotA, engine.Running).PID
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	must(t, err)
	for _, e := range entries {
		if to, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + e.Name()); err == nil && to == name {
			t.Errorf("the server has %s open", to)
		}
	}
}

func TestWalsendersDoNotDelayAStop(t *testing.T) {
	c := started(t)
	socket, err := c.socketDir(t.Context())
	must(t, err)
	cmd := exec.Command(tool(t, c, "pg_receivewal"), "-h", socket, "-U", superuser, "-D", t.TempDir(), "--no-loop")
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	eventually(t, "it receives", func() bool { return value(t, c, "SELECT count(*)::text FROM pg_stat_replication") == "1" })
	clients, err := c.Clients(t.Context())
	must(t, err)
	if len(clients) != 1 || clients[0].Application != "pg_receivewal" {
		t.Errorf("clients %+v", clients)
	}
	must(t, cmd.Process.Signal(syscall.SIGSTOP)) // it answers nothing any more
	at := time.Now()
	must(t, c.Stop(t.Context()))
	took(t, "stop with a hung receiver", at)
	if d := time.Since(at); d > 10*time.Second {
		t.Errorf("the stop took %s", d)
	}
}
