package supabase

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forklift/engine"
	"forklift/storage/fault"
)

// script makes a program called supabase.
func script(t *testing.T, text string) cli {
	t.Helper()
	name := filepath.Join(t.TempDir(), programName)
	ok(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755))
	return cli{Path: name}
}

func try(p cli, limit time.Duration, args ...string) (string, error) {
	said, err := p.run(context.Background(), call{env: os.Environ(), limit: limit, op: "start stack"}, args...)
	return string(said), err
}

func TestTheCLIsOwnWordsArePassedOn(t *testing.T) {
	_, err := try(script(t, `echo '{"_tag":"Error","error":{"code":"X","message":"migration 3 failed: syntax error at postgresql://postgres:geheim@127.0.0.1:5/x","suggestion":"Correct it."}}'; echo noise >&2; exit 1`), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "migration 3 failed: syntax error") || fault.HintOf(err) != "Correct it." {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "noise") {
		t.Errorf("it says too much: %v", err)
	}
	_, err = try(script(t, `echo 'no JSON at all' >&2; exit 3`), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "no JSON at all") {
		t.Error(err)
	}
	_, err = try(script(t, `echo '{"_tag":"Error","error":{"message":"Port 5 is in use by another process"}}'; exit 1`), time.Minute)
	if fault.KindOf(err) != fault.Busy {
		t.Errorf("a taken port: %v", fault.KindOf(err))
	}
}

func TestTheLastObjectCounts(t *testing.T) {
	said, err := try(script(t, `echo 'Loading {things}'; echo '{"env":{"API_URL":"http://x","DB_URL":"postgresql://y"},"message":""}'`), time.Minute)
	ok(t, err)
	values, err := parseValues([]byte(said))
	ok(t, err)
	if len(values) != 2 || values[apiURL] != "http://x" {
		t.Errorf("values: %v", values)
	}
	if _, err := parseValues([]byte(`{"API_URL": "x"}`)); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("without a database: %v", err)
	}
}

func TestAnEndlessCLIIsEnded(t *testing.T) {
	if _, err := try(script(t, "trap 'exit 1' INT; while :; do sleep 0.01; done"), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "not done after") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := script(t, "exit 0").run(ctx, call{env: os.Environ(), limit: time.Minute, op: "x"})
	if fault.KindOf(err) != fault.Canceled {
		t.Error(err)
	}
}

func TestVersions(t *testing.T) {
	for version, refused := range map[string]bool{"2.117.0": true, "1.99.9": true, "2.118.9": true, "2.119.0": false, "2.122.1": false, "3.1.0": false, "4.0.0-beta.1": false, "unknown": true} {
		err := checkVersion(version, "/x/supabase")
		if refused != (fault.KindOf(err) == fault.Unsupported) || refused == (err == nil) {
			t.Errorf("%s: %v", version, err)
		}
		if refused && version != "unknown" && !strings.Contains(err.Error(), version) {
			t.Errorf("%s is not refused by name: %v", version, err)
		}
	}
	if untested(tested) != "" || untested("9.9.9") == "" {
		t.Error("the tested version is not known")
	}
}

func TestFindingTheCLI(t *testing.T) {
	one, two := filepath.Dir(script(t, "").Path), t.TempDir()
	write(t, two, map[string]string{"node_modules/.bin/supabase": "#!/bin/sh\n"})
	path := func(dirs string) func(string) string { return func(string) string { return dirs } }
	if got := findProgram(path("/nowhere:"+one), two); got != one+"/supabase" {
		t.Errorf("PATH goes first: %s", got)
	}
	if got := findProgram(path("relative::/nowhere"), two); got != "" {
		t.Errorf("what cannot be executed was found: %s", got)
	}
	ok(t, os.Chmod(two+"/node_modules/.bin/supabase", 0o755))
	if got := findProgram(path("/nowhere"), "", two); got != two+"/node_modules/.bin/supabase" {
		t.Errorf("in the project: %s", got)
	}
	err := noProgram()
	if fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	for _, way := range []string{"npm install --save-dev supabase@" + tested, `"database": {"kind": "postgres"}`} {
		if !strings.Contains(fault.HintOf(err), way) {
			t.Errorf("the hint does not name %s: %s", way, fault.HintOf(err))
		}
	}
}

// The version is asked for once for each file.
func TestTheVersionIsRemembered(t *testing.T) {
	dir := t.TempDir()
	p := script(t, "echo >> "+dir+"/asked; echo 3.1.0")
	s := newStack(t, dir, "one", "", "PATH="+filepath.Dir(p.Path)+":"+os.Getenv("PATH"))
	for range 2 {
		got, err := s.program(context.Background())
		if err != nil || got.Version != "3.1.0" {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if got := read(t, dir+"/asked"); got != "\n" {
		t.Errorf("it was asked %d times", len(got))
	}
}

// A process that has the number of a supervisor that died is none.
func TestNumbersAreUsedAgain(t *testing.T) {
	s := newStack(t, t.TempDir(), "one", "")
	write(t, s.stackDir("a"), map[string]string{ownerName: `{"pid": ` + "1" + `}`})
	if pid, err := s.owner("a"); pid != 0 || err != nil {
		t.Errorf("owner = %d, %v", pid, err)
	}
}

// A CLI that outlives the process that ran it is not taken for rest.
func TestACLIAtWorkIsNoRest(t *testing.T) {
	s := newStack(t, t.TempDir(), "one", "")
	lock, err := s.drive(context.Background(), "start stack")
	ok(t, err)
	pipe := filepath.Join(s.branch.Dir, "pipe")
	ok(t, syscall.Mkfifo(pipe, 0o600))
	done := make(chan error)
	go func() {
		_, err := script(t, "cat "+pipe).run(context.Background(), call{env: os.Environ(), limit: time.Minute, op: "start stack", held: heldFile(lock)})
		done <- err
	}()
	end, err := os.OpenFile(pipe, os.O_WRONLY, 0) // the CLI has been started once this returns
	ok(t, err)
	ok(t, lock.Unlock()) // as the end of our process does
	seen, err := s.look()
	if err != nil || !seen.cli || seen.idle() {
		t.Errorf("while it works: %+v, %v", seen, err)
	}
	if err := s.proveRest(engine.SlotA); fault.KindOf(err) != fault.Busy {
		t.Errorf("rest is proven: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Stop(ctx); fault.KindOf(err) != fault.Canceled {
		t.Errorf("a stop that is given up: %v", err)
	}
	ok(t, end.Close())
	ok(t, <-done)
	ok(t, s.Stop(context.Background()))
	if seen, err := s.look(); err != nil || !seen.idle() {
		t.Errorf("behind its end: %+v, %v", seen, err)
	}
}
