package realinput

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// transaction is the work of one client: one transaction's statements. tx is
// committed by the caller.
type transaction func(ctx context.Context, tx pgx.Tx, r *rand.Rand) error

// clients work on a database, each in its own connection, until that is cut
// off; then they wait for the next Go.
type clients struct {
	w    *world
	work transaction
	url  string
	psql string

	mu     sync.Mutex
	acked  []int64 // by client: the last transaction that the server acknowledged
	parked int
	pass   chan struct{}   // closed: go on
	errs   []string        // failures that were no cut
	ctx    context.Context // ends with the test
	stop   context.CancelFunc
	group  sync.WaitGroup
}

// sqlClients is how many work through pgx; one more works through psql.
const sqlClients = 3

// settle is how long clients may take to work, or to notice the cut.
const settle = 2 * time.Minute

// newClients starts clients, which wait.
func newClients(t *testing.T, w *world, seed uint64, work transaction) *clients {
	t.Helper()
	c := &clients{w: w, work: work, url: strings.TrimSpace(w.forklift("db", "url")), psql: filepath.Join(shared.pg, "psql"),
		acked: make([]int64, sqlClients+1), pass: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for i := range c.acked {
		c.group.Add(1)
		one := c.pgx
		if i == sqlClients {
			one = c.viaPsql
		}
		go c.live(i, rand.New(rand.NewPCG(seed, uint64(i))), one)
	}
	t.Cleanup(c.end)
	c.waitParked()
	return c
}

// live works whenever it is let, until the end.
func (c *clients) live(i int, r *rand.Rand, work func(ctx context.Context, i int, r *rand.Rand) error) {
	defer c.group.Done()
	for {
		c.mu.Lock()
		c.parked++
		pass := c.pass
		c.mu.Unlock()
		select {
		case <-c.ctx.Done():
			return
		case <-pass:
		}
		if text := work(c.ctx, i, r).Error(); c.ctx.Err() == nil && !wasCut(text) {
			c.mu.Lock()
			c.errs = append(c.errs, fmt.Sprintf("client %d: %s", i, text))
			c.mu.Unlock()
		}
	}
}

// wasCut tells an error that comes from the end of the connection.
func wasCut(text string) bool {
	for _, part := range []string{"57P01", "57P03", "terminating connection", "server closed the connection", "unexpected EOF", "conn closed",
		"connection reset", "broken pipe", "failed to connect", "No such file", "Connection refused", "connection to server", "the database system is"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// pgx runs transactions until one fails.
func (c *clients) pgx(ctx context.Context, i int, r *rand.Rand) error {
	conn, err := pgx.Connect(ctx, c.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for {
		n := c.last(i) + 1
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := c.work(ctx, tx, r); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO acknowledged VALUES ($1, $2) ON CONFLICT DO NOTHING", i, n)
			return err
		})
		if err != nil {
			return err
		}
		c.ack(i, n)
	}
}

// viaPsql runs psql again and again until it fails.
func (c *clients) viaPsql(ctx context.Context, i int, _ *rand.Rand) error {
	for {
		n := c.last(i) + 1
		cmd := exec.CommandContext(ctx, c.psql, "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", c.url)
		cmd.Stdin = strings.NewReader(fmt.Sprintf("BEGIN;\nINSERT INTO acknowledged VALUES (%d, %d) ON CONFLICT DO NOTHING;\nCOMMIT;\n", i, n))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("psql: %w: %s", err, stderr.String())
		}
		c.ack(i, n)
	}
}

func (c *clients) last(i int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acked[i]
}

func (c *clients) ack(i int, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked[i] = n
}

// goOn lets the clients work and waits until each has some transactions more.
func (c *clients) goOn(more int64) {
	c.w.t.Helper()
	c.mu.Lock()
	want := make([]int64, len(c.acked))
	for i, n := range c.acked {
		want[i] = n + more
	}
	c.parked = 0
	close(c.pass)
	c.pass = make(chan struct{})
	c.mu.Unlock()
	c.until("work", func() bool {
		for i, n := range want {
			if c.acked[i] < n {
				return false
			}
		}
		return true
	})
}

// waitParked waits until all clients have noticed that they were cut off.
func (c *clients) waitParked() {
	c.w.t.Helper()
	c.until("wait", func() bool { return c.parked == len(c.acked) })
}

// until polls a condition on what mu guards.
func (c *clients) until(what string, done func() bool) {
	c.w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(settle); time.Now().Before(end); <-tick.C {
		c.mu.Lock()
		ok, errs := done(), c.errs
		c.mu.Unlock()
		if len(errs) > 0 {
			c.w.t.Fatalf("clients failed:\n%s", strings.Join(errs, "\n"))
		}
		if ok {
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.t.Fatalf("the clients do not %s after %v: %d wait, acknowledged %v", what, settle, c.parked, c.acked)
}

// kept fails unless the database holds what was acknowledged, and of each
// client at most the one transaction more whose answer was cut off. The
// clients go on behind what is there.
func (c *clients) kept(after string) {
	c.w.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range strings.Fields(c.w.query("SELECT client, max(n), count(*) FROM acknowledged GROUP BY client")) {
		f := strings.Split(row, "|")
		i, _ := strconv.Atoi(f[0])
		last, _ := strconv.ParseInt(f[1], 10, 64)
		count, _ := strconv.ParseInt(f[2], 10, 64)
		if last != c.acked[i] && last != c.acked[i]+1 || count != last {
			c.w.t.Fatalf("%s client %d finds %d transactions up to number %d, acknowledged were %d", after, i, count, last, c.acked[i])
		}
	}
}

// rewound sets what the clients count to what the database holds.
func (c *clients) rewound(acked []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	copy(c.acked, acked)
}

// count is how far each client is, by the database.
func (c *clients) count() []int64 {
	c.w.t.Helper()
	list := make([]int64, len(c.acked))
	for _, row := range strings.Fields(c.w.query("SELECT client, max(n) FROM acknowledged GROUP BY client")) {
		client, n, _ := strings.Cut(row, "|")
		i, _ := strconv.Atoi(client)
		list[i], _ = strconv.ParseInt(n, 10, 64)
	}
	return list
}

// end ends all clients.
func (c *clients) end() {
	c.stop()
	c.group.Wait()
}
