//go:build failpoint

package failpoint

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"sync"
	"syscall"
)

type counter struct {
	mu        sync.Mutex
	count     int
	depth     int // of Bulk brackets
	bulkCount uint
	kill      int
	interrupt int
	countFile string
	trace     bool
}

func init() {
	c := &counter{countFile: os.Getenv("FORKLIFT_FAILPOINT_COUNT"), trace: os.Getenv("FORKLIFT_FAILPOINT_TRACE") != ""}
	c.kill, _ = strconv.Atoi(os.Getenv("FORKLIFT_FAILPOINT_KILL"))
	c.interrupt, _ = strconv.Atoi(os.Getenv("FORKLIFT_FAILPOINT_INTERRUPT"))
	if c.kill == 0 && c.interrupt == 0 && c.countFile == "" && !c.trace {
		return
	}
	hit, bulk, report = c.hit, c.bulk, c.report
}

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
	if c.trace {
		fmt.Fprintf(os.Stderr, "failpoint %d: %s %s\n", c.count, op, path)
	}
	if c.count == c.interrupt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	}
	if c.count == c.kill {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (c *counter) bulk() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.depth == 0 {
		c.bulkCount = 0
	}
	c.depth++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.depth--
	}
}

func (c *counter) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.countFile != "" {
		_ = os.WriteFile(c.countFile, []byte(strconv.Itoa(c.count)+"\n"), 0o600)
	}
}
