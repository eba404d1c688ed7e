package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"forklift/server/lsp"
	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// patience is how long a test waits for anything.
const patience = 30 * time.Second

// fakeHub answers "wait" when the test lets it.
type fakeHub struct {
	mu         sync.Mutex
	sessions   int
	operations int
	idle       chan struct{} // closed when no operation runs
	letGo      chan struct{}
	trees      []Worktree
	closed     bool
}

func newFakeHub() *fakeHub {
	h := &fakeHub{letGo: make(chan struct{}), idle: make(chan struct{})}
	close(h.idle)
	return h
}

func (h *fakeHub) NewSession(peer Peer) lsp.Handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions++
	return &fakeSession{hub: h, peer: peer}
}

func (h *fakeHub) Busy() (int, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions, h.operations
}

func (h *fakeHub) Drain(ctx context.Context) error {
	h.mu.Lock()
	idle := h.idle
	h.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *fakeHub) Worktrees() []Worktree { return h.trees }

func (h *fakeHub) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return nil
}

type fakeSession struct {
	hub  *fakeHub
	peer Peer
}

func (s *fakeSession) Initialize(context.Context, *lsp.Conn, *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	return &protocol.InitializeResult{}, nil
}
func (s *fakeSession) Notification(context.Context, string, json.RawMessage) {}
func (s *fakeSession) Lane(string, json.RawMessage) string                   { return "" }
func (s *fakeSession) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	switch method {
	case "who":
		return s.peer, nil
	case "wait":
		s.hub.mu.Lock()
		s.hub.operations, s.hub.idle = 1, make(chan struct{})
		s.hub.mu.Unlock()
		<-s.hub.letGo
		s.hub.mu.Lock()
		s.hub.operations = 0
		close(s.hub.idle)
		s.hub.mu.Unlock()
		return "waited", nil
	}
	return nil, lsp.ErrMethodNotFound
}
func (s *fakeSession) Closed() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.sessions--
}

// world is a place with at most one daemon in it.
type world struct {
	t     *testing.T
	place Place
	opt   Options
	hub   *fakeHub
	stop  context.CancelFunc
	over  chan error
}

// newWorld makes a place with a short name.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	place, err := PlaceOf([]string{"XDG_RUNTIME_DIR=" + dir}, os.Geteuid(), filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, place: place, hub: newFakeHub()}
	w.opt = Options{
		Place: place, FS: vfs.OS(), Clock: clock.System{}, UID: os.Geteuid(), Version: "1.2.0", Idle: time.Hour,
		NewHub: func(*slog.Logger) (Hub, error) { return w.hub, nil },
	}
	return w
}

// start runs a daemon in this process.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	w.stop, w.over = cancel, over
	go func() { over <- Run(ctx, w.opt) }()
	w.t.Cleanup(func() {
		cancel()
		if w.over == over {
			w.ended(nil)
		}
	})
	w.until(func() bool {
		_, running, err := w.dialer().Ask(context.Background(), "status")
		return err == nil && running
	})
}

// ended waits for the end of the daemon.
func (w *world) ended(want error) {
	w.t.Helper()
	select {
	case err := <-w.over:
		w.over = nil
		if !errors.Is(err, want) {
			w.t.Errorf("the daemon ended with %v", err)
		}
	case <-time.After(patience):
		w.t.Fatal("the daemon did not end")
	}
}

// until waits for something.
func (w *world) until(done func() bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-deadline:
			w.t.Fatal("it did not happen")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (w *world) dialer() *Dialer {
	return &Dialer{Place: w.place, FS: vfs.OS(), UID: os.Geteuid(), Version: "1.2.0", PID: 7, Cwd: "/here", Environ: []string{"A=b"}}
}

// editor is a client behind the handshake.
type editor struct {
	t      *testing.T
	conn   net.Conn
	frames *lsp.FrameReader
}

func (w *world) editor(d *Dialer) *editor {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := d.Connect(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	e := &editor{w.t, conn, lsp.NewFrameReader(conn, 0, 0)}
	e.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"Ed"},"capabilities":{}}}`)
	if got := e.read(); !strings.Contains(got, `"id":0,"result"`) {
		w.t.Fatal(got)
	}
	return e
}

func (e *editor) send(body string) {
	e.t.Helper()
	if _, err := e.conn.Write(lsp.AppendFrame(nil, []byte(body))); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) read() string {
	e.t.Helper()
	_ = e.conn.SetDeadline(time.Now().Add(patience))
	body, err := e.frames.Read()
	if err != nil {
		e.t.Fatal(err)
	}
	return string(body)
}

// end waits for the end of the connection.
func (e *editor) end() {
	e.t.Helper()
	_ = e.conn.SetDeadline(time.Now().Add(patience))
	if body, err := e.frames.Read(); !errors.Is(err, io.EOF) {
		e.t.Fatalf("%s, %v: want the end", body, err)
	}
}

func TestStatusStopAndWhatIsLeft(t *testing.T) {
	w := newWorld(t)
	if _, running, err := w.dialer().Ask(context.Background(), "status"); running || err != nil {
		t.Fatalf("before: %v, %v", running, err)
	}
	w.hub.trees = []Worktree{{Path: "/w", Text: "saved"}}
	w.start()
	for name, mode := range map[string]fs.FileMode{w.place.Dir: 0o700, w.place.Socket: 0o600, w.place.Lock: 0o600, w.place.Log: 0o600} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	e := w.editor(w.dialer())
	e.send(`{"jsonrpc":"2.0","id":1,"method":"who"}`)
	if got := e.read(); !strings.Contains(got, `{"PID":7,"Cwd":"/here","Environ":["A=b"],"Version":"1.2.0"}`) {
		t.Error(got)
	}
	s, running, err := w.dialer().Ask(context.Background(), "status")
	if err != nil || !running || s.PID != os.Getpid() || s.Leaving || len(s.Sessions) != 1 || s.Sessions[0].Editor != "Ed" || s.Sessions[0].PID != 7 || len(s.Worktrees) != 1 {
		t.Errorf("%+v, %v, %v", s, running, err)
	}
	if s, stopped, err := w.dialer().Stop(context.Background()); err != nil || !stopped || len(s.Sessions) != 1 {
		t.Errorf("stop: %+v, %v, %v", s, stopped, err)
	}
	if got := e.read(); got != `{"jsonrpc":"2.0","method":"$/forklift/ending","params":{"reason":"stop"}}` {
		t.Error(got)
	}
	e.end()
	w.ended(nil)
	if !w.hub.closed || w.hub.sessions != 0 {
		t.Errorf("the hub: %+v", w.hub)
	}
	if _, err := os.Lstat(w.place.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := os.Lstat(w.place.Lock); err != nil {
		t.Errorf("the lock was removed: %v", err)
	}
	if _, stopped, err := w.dialer().Stop(context.Background()); stopped || err != nil {
		t.Errorf("a second stop: %v, %v", stopped, err)
	}
}

// TestAStopIsAlwaysAnswered: the end that a client asks for must not cut off
// the answer to it.
func TestAStopIsAlwaysAnswered(t *testing.T) {
	for range 50 {
		w := newWorld(t)
		w.start()
		if s, stopped, err := w.dialer().Stop(context.Background()); err != nil || !stopped || !s.Leaving {
			t.Fatalf("stop: %+v, stopped %v, %v", s, stopped, err)
		}
		w.ended(nil)
	}
}

func TestOneDaemon(t *testing.T) {
	w := newWorld(t)
	w.start()
	if err := Run(context.Background(), w.opt); !errors.Is(err, ErrRunning) {
		t.Errorf("a second daemon: %v", err)
	}
	if _, running, err := w.dialer().Ask(context.Background(), "status"); err != nil || !running {
		t.Errorf("the first one: %v, %v", running, err)
	}
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	w := newWorld(t)
	if err := w.place.ensure(vfs.OS(), os.Geteuid()); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.place.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, running, err := w.dialer().Ask(context.Background(), "status"); running || err != nil {
		t.Errorf("a stale socket: %v, %v", running, err)
	}
	w.start()
}

func TestIdleExit(t *testing.T) {
	w := newWorld(t)
	w.opt.Idle = 30 * time.Millisecond
	w.opt.NewHub = func(*slog.Logger) (Hub, error) { return w.hub, nil }
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- Run(ctx, w.opt) }()
	select {
	case err := <-over:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it did not end")
	}
	// With an editor, and with an operation whose editor is gone, it stays.
	w.opt.Idle = 400 * time.Millisecond
	w.start()
	e := w.editor(w.dialer())
	e.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	w.until(func() bool { _, n := w.hub.Busy(); return n == 1 })
	e.conn.Close()
	select {
	case err := <-w.over:
		t.Fatalf("it ended in the middle of an operation: %v", err)
	case <-time.After(3 * w.opt.Idle):
	}
	close(w.hub.letGo)
	w.ended(nil)
}

func TestANewerFrontTakesThePlace(t *testing.T) {
	w := newWorld(t)
	w.start()
	old := w.editor(w.dialer())
	old.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	w.until(func() bool { _, n := w.hub.Busy(); return n == 1 })
	newer := w.dialer()
	newer.Version = "1.10.0"
	waiting := make(chan struct{})
	newer.Waiting = func() { close(waiting) }
	done := make(chan error, 1)
	go func() {
		// The operation is finished first, and its answer sent; only then is
		// the place free, where a front would start its own.
		<-waiting
		if _, _, err := w.dialer().Connect(context.Background()); fault.KindOf(err) == fault.Busy {
			done <- fmt.Errorf("an older front is told: %w", err)
			return
		}
		done <- nil
	}()
	go func() {
		<-waiting
		close(w.hub.letGo)
	}()
	_, _, err := newer.Connect(context.Background()) // it can start none
	if !errors.Is(err, errNone) {
		t.Errorf("the newer front: %v", err)
	}
	if got := old.read(); got != `{"jsonrpc":"2.0","id":1,"result":"waited"}` {
		t.Error(got)
	}
	if got := old.read(); got != `{"jsonrpc":"2.0","method":"$/forklift/ending","params":{"reason":"newer"}}` {
		t.Error(got)
	}
	old.end()
	w.ended(nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHellos(t *testing.T) {
	w := newWorld(t)
	w.start()
	for text, want := range map[string]string{
		`{"proto":0,"version":"0.0.1","role":"lsp"}`:   `is older than the daemon (1.2.0) serves","hint":"Restart the editor`,
		`{"proto":1,"role":"cook"}`:                    `does not know the role \"cook\"`,
		`{"proto":1,"role":"control","ask":"dance"}`:   `cannot \"dance\"`,
		`{"proto":99,"role":"control","ask":"status"}`: `"leaving":false`, // asking drains nobody
		`{"proto":1,"version":"1.1.9","role":"lsp"}`:   `"version":"1.2.0"`,
		`{"proto":1,"version":"what","role":"lsp"}`:    `"version":"1.2.0"`,
		`not json`:      "",
		`{"proto":"x"}`: "",
		`{"proto":1,"env":"` + strings.Repeat("x", maxLine): "",
	} {
		conn, err := net.Dial("unix", w.place.Socket)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, text+"\n") }() // the daemon need not read it all
		_ = conn.SetDeadline(time.Now().Add(patience))
		line := make([]byte, 4096)
		n, err := conn.Read(line)
		if got := string(line[:n]); !strings.Contains(got, want) || (want == "" && n > 0) || (want != "" && err != nil) {
			t.Errorf("%.60s: got %q, %v", text, got, err)
		}
		conn.Close()
	}
	// One that says nothing does not hold up the end.
	conn, err := net.Dial("unix", w.place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	w.stop()
	w.ended(nil)
}

func TestForeignDirectories(t *testing.T) {
	uid := os.Geteuid()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"open to the group": func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750)) },
		"open to others":    func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o701)) },
		"a link":            func(t *testing.T, dir string) { must(t, os.Mkdir(dir+"x", 0o700), os.Symlink(dir+"x", dir)) },
		"a file":            func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) },
		"of another user": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			if uid != 0 {
				uid++ // we are the other one
			} else {
				must(t, os.Chown(dir, 12345, 12345))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			uid = os.Geteuid()
			w := newWorld(t)
			spoil(t, w.place.Dir)
			w.opt.UID = uid
			d := w.dialer()
			d.UID = uid
			d.Start = func() (*Child, error) { t.Error("a daemon was started"); return nil, errors.New("no") }
			_, _, connect := d.Connect(context.Background())
			_, _, ask := d.Ask(context.Background(), "status")
			for what, err := range map[string]error{"run": Run(context.Background(), w.opt), "connect": connect, "ask": ask} {
				if fault.KindOf(err) != fault.Untrusted || fault.HintOf(err) == "" {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestPeersOfAnotherUserAreRefused(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.dialer()
	conn, err := net.Dial("unix", w.place.Socket)
	must(t, err)
	defer conn.Close()
	if err := checkPeer(conn.(syscall.Conn), d.UID); err != nil {
		t.Errorf("our own: %v", err)
	}
	if err := checkPeer(conn.(syscall.Conn), d.UID+1); err == nil {
		t.Error("another user's was taken")
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	p, err := PlaceOf([]string{"XDG_RUNTIME_DIR=" + dir}, 1234567, "/state")
	if err != nil || p.Socket != sharedTemp+"/forklift-1234567/d1.sock" || p.Log != "/state/daemon.log" {
		t.Errorf("a runtime directory that is not private: %+v, %v", p, err)
	}
	if p, err := PlaceOf([]string{"XDG_RUNTIME_DIR=run"}, 1, "/state"); err != nil || p.Dir != sharedTemp+"/forklift-1" {
		t.Errorf("a relative one: %+v, %v", p, err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 90))
	must(t, os.Mkdir(long, 0o700))
	if _, err := PlaceOf([]string{"XDG_RUNTIME_DIR=" + long}, os.Geteuid(), "/state"); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a long name: %v", err)
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		newer bool
	}{
		{"1.2.3", "1.2.2", true}, {"1.10.0", "1.9.9", true}, {"2.0.0", "1.99.99", true}, {"1.2.3", "1.2.3", false}, {"1.2.2", "1.2.3", false},
		{"1.2.3", "1.2.3-dev", true}, {"1.2.3-dev", "1.2.3", false}, {"1.2.3-dev", "1.2.2", true}, {"v1.2.3", "1.2.2", true},
		{"x", "1.2.3", false}, {"1.2.3", "x", false}, {"1.2", "1.1.0", false}, {"", "", false},
	} {
		if got := newerVersion(c.a, c.b); got != c.newer {
			t.Errorf("%s is newer than %s: %v", c.a, c.b, got)
		}
	}
}

func TestUnusedServersAreStopped(t *testing.T) {
	w := newWorld(t)
	w.hub.trees = []Worktree{{Path: "/used", Tracked: true}, {Path: "/unused", Tracked: true}, {Path: "/failing", Tracked: true}, {Path: "/foreign"}}
	w.opt.ServerIdle = 10 * time.Millisecond
	stopped := make(chan string, 100)
	w.opt.StopServer = func(_ context.Context, t Worktree, look bool) (bool, error) {
		if !look {
			stopped <- t.Path
		}
		if t.Path == "/failing" {
			return true, errors.New("no")
		}
		return t.Path == "/unused", nil
	}
	w.start()
	select {
	case path := <-stopped:
		if path != "/unused" {
			t.Errorf("%s was stopped", path)
		}
	case <-time.After(patience):
		t.Fatal("nothing was stopped")
	}
	w.stop()
	w.ended(nil)
	last := map[string]bool{}
	close(stopped)
	for path := range stopped {
		last[path] = true
	}
	if !last["/used"] || last["/foreign"] { // asked once more at the end; the engine decides
		t.Errorf("asked at the end: %v", last)
	}
}

func TestSlotsArePrepared(t *testing.T) {
	w := newWorld(t)
	w.hub.trees = []Worktree{{Path: "/one", Tracked: true}, {Path: "/failing", Tracked: true}, {Path: "/foreign"}}
	w.opt.PrepareEvery = time.Millisecond
	asked := make(chan string)
	w.opt.Prepare = func(ctx context.Context, t Worktree) (bool, error) {
		select {
		case asked <- t.Path:
		case <-ctx.Done():
		}
		if t.Path == "/failing" {
			return false, errors.New("no")
		}
		return true, nil
	}
	w.start()
	for _, want := range []string{"/one", "/failing", "/one", "/failing"} { // at first, and again in any case
		select {
		case path := <-asked:
			if path != want {
				t.Errorf("%s was prepared, want %s", path, want)
			}
		case <-time.After(patience):
			t.Fatalf("%s was not prepared", want)
		}
	}
	w.stop()
	w.ended(nil)
}

func TestTheLogIsLimited(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	l, err := openLog(vfs.OS(), name)
	must(t, err)
	line := strings.Repeat("x", 99) + "\n"
	const n = 5 * maxLog / 100
	for i := range n {
		_, err := l.Write(fmt.Appendf(nil, "%08d %s", i, line[9:]))
		must(t, err)
	}
	for _, part := range []string{name, name + ".1"} {
		if info, err := os.Stat(part); err != nil || info.Size() > maxLog || info.Size() == 0 {
			t.Errorf("%s: %v, %v", part, info, err)
		}
	}
	lines, end, err := LastLines(vfs.OS(), name, 30000)
	must(t, err)
	if len(lines) < 20000 || !strings.HasPrefix(lines[len(lines)-1], fmt.Sprintf("%08d", n-1)) || !strings.HasPrefix(lines[0], fmt.Sprintf("%08d", n-len(lines))) {
		t.Errorf("%d lines, from %.9s to %.9s", len(lines), lines[0], lines[len(lines)-1])
	}
	follow(t, name, end, l)
	if lines, end, err := LastLines(vfs.OS(), filepath.Join(t.TempDir(), "none"), 5); err != nil || len(lines) != 0 || end != 0 {
		t.Errorf("no log: %v, %d, %v", lines, end, err)
	}
}

// follow checks that what is written is seen, across a turn of the log.
func follow(t *testing.T, name string, end int64, l *logFile) {
	t.Helper()
	r, out, err := os.Pipe()
	must(t, err)
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- FollowLog(ctx, vfs.OS(), name, end, out) }()
	_, _ = l.Write([]byte("first\n"))
	buf := make([]byte, 100)
	_ = r.SetDeadline(time.Now().Add(patience))
	if n, err := io.ReadFull(r, buf[:6]); err != nil || string(buf[:n]) != "first\n" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	l.mu.Lock()
	l.turn()
	l.mu.Unlock()
	_, _ = l.Write([]byte("second\n"))
	if n, err := io.ReadFull(r, buf[:7]); err != nil || string(buf[:n]) != "second\n" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	out.Close()
}

func TestTheEnvironmentOfADaemon(t *testing.T) {
	got := Environ([]string{"HOME=/h", "PATH=/bin", "SECRET=1", "XDG_STATE_HOME=/s", "LC_ALL=C", "PGPASSWORD=x", "FORKLIFT_STORE=/f", "HOMER=d"})
	if want := "HOME=/h PATH=/bin XDG_STATE_HOME=/s LC_ALL=C FORKLIFT_STORE=/f"; strings.Join(got, " ") != want {
		t.Errorf("%v", got)
	}
}
