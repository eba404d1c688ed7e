package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// env is a getenv with these variables.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestNoOrders(t *testing.T) {
	if newCounter(env(nil)) != nil {
		t.Error("a counter without orders")
	}
	Hit("write", "f")
	Bulk()()
	Report()
}

func TestSignalsAtTheHit(t *testing.T) {
	var trace strings.Builder
	c := newCounter(env(map[string]string{killVariable: "3", interruptVariable: "2", traceVariable: "1"}))
	c.trace = &trace
	got := map[syscall.Signal]int{}
	c.signal = func(s syscall.Signal) { got[s] = c.count }
	for _, path := range []string{"a", "b", "c", "d"} {
		c.hit("write", path)
	}
	if got[syscall.SIGKILL] != 3 || got[syscall.SIGINT] != 2 || len(got) != 2 || c.count != 4 {
		t.Errorf("signals %v in %d hits", got, c.count)
	}
	if want := "failpoint 1: write a\nfailpoint 2: write b\nfailpoint 3: write c\nfailpoint 4: write d\n"; trace.String() != want {
		t.Errorf("traced %q", trace.String())
	}
}

func TestSignalsAtTheText(t *testing.T) {
	for order, want := range map[string]int{"rename /x/current": 5, "rename /x/current>1": 6, "rename /x/current>3": 8, "rename /x/current>9": 0} {
		c := newCounter(env(map[string]string{killVariable: order}))
		var got []int
		c.signal = func(syscall.Signal) { got = append(got, c.count) }
		for _, path := range []string{"/y/current.json", "/x/a", "/x/current.json", "/x/b", "/x/current.json"} {
			c.hit("rename", path)
			c.hit("write", path)
		}
		if want == 0 && len(got) > 0 || want != 0 && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: signals at the hits %v", order, got)
		}
	}
}

func TestBulkCountsPowersOfTwo(t *testing.T) {
	c := newCounter(env(map[string]string{killVariable: "1000"}))
	hits := func(n int) int {
		before := c.count
		for range n {
			c.hit("write", "f")
		}
		return c.count - before
	}
	if n := hits(5); n != 5 {
		t.Errorf("%d of 5 outside", n)
	}
	end := c.bulk()
	if n := hits(100); n != 7 { // 1 2 4 8 16 32 64
		t.Errorf("%d of 100 inside", n)
	}
	inner := c.bulk() // goes on counting
	if n := hits(100); n != 1 {
		t.Errorf("%d of the second 100 inside", n)
	}
	inner()
	inner() // ends only once
	if n := hits(56); n != 1 {
		t.Errorf("%d of the last 56 inside", n)
	}
	end()
	if n := hits(5); n != 5 {
		t.Errorf("%d of 5 afterwards", n)
	}
	end = c.bulk()
	if n := hits(3); n != 2 {
		t.Errorf("%d of 3 in the next one", n)
	}
	end()
}

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	c := newCounter(env(map[string]string{countVariable: file}))
	c.hit("write", "f")
	c.hit("write", "f")
	c.report()
	if data, err := os.ReadFile(file); string(data) != "2\n" || err != nil {
		t.Errorf("got %q, %v", data, err)
	}
}

// TestKill starts this test again as a child that dies at its second hit.
func TestKill(t *testing.T) {
	if c := newCounter(os.Getenv); c != nil && os.Getenv("FORKLIFT_TEST_CHILD") != "" {
		c.hit("write", "one")
		c.hit("write", "two")
		t.Fatal("still alive")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestKill$")
	child.Env = append(os.Environ(), "FORKLIFT_TEST_CHILD=1", killVariable+"=2", traceVariable+"=1")
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v: %s", err, out)
	}
	if status := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("ended with %v: %s", err, out)
	}
	if string(out) != "failpoint 1: write one\nfailpoint 2: write two\n" {
		t.Errorf("said %q", out)
	}
}
