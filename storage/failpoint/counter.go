package failpoint

import (
	"fmt"
	"io"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The variables that give the orders.
const (
	killVariable      = "FORKLIFT_FAILPOINT_KILL"
	interruptVariable = "FORKLIFT_FAILPOINT_INTERRUPT"
	countVariable     = "FORKLIFT_FAILPOINT_COUNT"
	traceVariable     = "FORKLIFT_FAILPOINT_TRACE"
)

// counter counts the hits of a process and sends it a signal at the one it
// was told.
type counter struct {
	kill      int    // the hit to die at; 0 = none
	killText  string // in the operation and path of the hit to die at; "" = none
	behind    int    // that many hits later instead
	interrupt int    // the hit to be interrupted at; 0 = none
	countFile string // where report writes; "" = nowhere
	trace     io.Writer
	signal    func(syscall.Signal)

	mu        sync.Mutex
	count     int
	depth     int  // of Bulk brackets
	bulkCount uint // hits since the outermost one
}

// newCounter reads the orders; nil if there are none.
func newCounter(getenv func(string) string) *counter {
	c := &counter{countFile: getenv(countVariable), trace: io.Discard, signal: signal}
	var err error
	if c.kill, err = strconv.Atoi(getenv(killVariable)); err != nil {
		var behind string
		c.killText, behind, _ = strings.Cut(getenv(killVariable), ">")
		c.behind, _ = strconv.Atoi(behind)
	}
	c.interrupt, _ = strconv.Atoi(getenv(interruptVariable))
	tracing := getenv(traceVariable) != ""
	if tracing {
		c.trace = os.Stderr
	}
	if c.kill == 0 && c.killText == "" && c.interrupt == 0 && c.countFile == "" && !tracing {
		return nil
	}
	return c
}

// signal sends a signal to this process. After SIGKILL it does not return.
func signal(s syscall.Signal) {
	_ = syscall.Kill(os.Getpid(), s)
	if s == syscall.SIGKILL {
		select {}
	}
}

// hit counts. The lock is kept while it dies, so that no other goroutine
// gets any further than its own next hit.
func (c *counter) hit(op, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.depth > 0 {
		c.bulkCount++
		if bits.OnesCount(c.bulkCount) != 1 {
			return
		}
	}
	c.count++
	_, _ = fmt.Fprintf(c.trace, "failpoint %d: %s %s\n", c.count, op, path)
	if c.count == c.interrupt {
		c.signal(syscall.SIGINT)
	}
	if c.killText != "" && strings.Contains(op+" "+path, c.killText) {
		c.kill, c.killText = c.count+c.behind, ""
	}
	if c.count == c.kill {
		c.signal(syscall.SIGKILL)
	}
}

func (c *counter) bulk() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.depth == 0 {
		c.bulkCount = 0
	}
	c.depth++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.depth--
	})
}

func (c *counter) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.countFile != "" {
		_ = os.WriteFile(c.countFile, []byte(strconv.Itoa(c.count)+"\n"), 0o600)
	}
}
