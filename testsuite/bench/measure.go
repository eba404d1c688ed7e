package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"forklift/testsuite/internal/harness"
)

// figure is one kind of operation: medians over the rounds, the greatest memory.
type figure struct {
	WallMs      float64 `json:"wall_ms"`
	AwayMs      float64 `json:"away_ms,omitempty"`
	ReadBytes   int64   `json:"read_bytes,omitempty"`   // by a capture
	StoredBytes int64   `json:"stored_bytes,omitempty"` // compressed, new in the store
	WriteBytes  int64   `json:"write_bytes,omitempty"`  // to the database's slot, by a restore
	MemoryBytes int64   `json:"memory_bytes"`           // greatest resident size of the command
}

// result is one size of database.
type result struct {
	PayloadMiB    int    `json:"payload_mib"`
	DataBytes     int64  `json:"data_bytes"`       // the cluster's files, as captured
	Floor         figure `json:"floor"`            // stop + start of the bare server
	SeedCreate    figure `json:"seed_create"`      // loading the SQL included
	Setup         figure `json:"setup"`            // from the seed
	FirstCapture  figure `json:"first_capture"`    // after setup
	OneRow        figure `json:"one_row"`          // capture of a one-row change
	NoChange      figure `json:"no_change"`        // capture when nothing changed
	FirstRestore  figure `json:"first_restore"`    // the other slot is empty
	Prepared      figure `json:"prepared_restore"` // the first one of another worktree, whose other slot the daemon has prepared
	SecondRestore figure `json:"second_restore"`   // and those that follow
	Undo          figure `json:"undo"`
}

// lab is a worktree in a home of its own.
type lab struct {
	root, repo, forklift, pg string
	env                      []string
}

// answer is what the verbs' --json results have that matters here.
type answer struct {
	WallMs       int64 `json:"wall_ms"`
	AwayMs       int64 `json:"away_ms"`
	ReadBytes    int64 `json:"read_bytes"`
	AddedBytes   int64 `json:"added_bytes"`
	PatchedBytes int64 `json:"patched_bytes"`
	DataBytes    int64 `json:"data_bytes"`
}

// rowBytes is what a row of the payload takes in its table, about.
const rowBytes = 292

// load makes a table of size MiB that compresses no better than text does.
const load = `CREATE TABLE payload (id bigint PRIMARY KEY, n integer NOT NULL, v text NOT NULL);
INSERT INTO payload SELECT g, 0, md5(g::text) || md5((g + 1)::text) || md5((g * 7)::text) || md5((g * 13)::text) || md5((g * 17)::text) || md5((g * 19)::text) || md5((g * 23)::text) || md5((g * 29)::text)
  FROM generate_series(1, %d) g;
`

// newLab makes a home and a repository with a few hundred source files.
func newLab(opt options, pg string) (*lab, error) {
	root, err := opt.dir, error(nil)
	if root == "" {
		root, err = harness.TempDir()
	} else {
		root, err = os.MkdirTemp(root, "bench")
	}
	if err != nil {
		return nil, err
	}
	l := &lab{root: root, repo: filepath.Join(root, "app"), forklift: opt.forklift, pg: pg}
	home := filepath.Join(root, "home")
	if err := harness.MakeHome(home); err != nil {
		return nil, err
	}
	l.env = harness.Environ(home, filepath.Dir(opt.forklift), pg)
	for i := range 300 {
		file := filepath.Join(l.repo, "src", "d"+strconv.Itoa(i%10), "f"+strconv.Itoa(i)+".txt")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, bytes.Repeat([]byte(strconv.Itoa(i)+" some text of a source file\n"), 100), 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(l.repo, ".forklift.json"), []byte(`{"format": 1, "source": ["src"]}`+"\n"), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command("git", "init", "-q", l.repo)
	cmd.Env = l.env
	return l, cmd.Run()
}

// close tears the worktree down and removes everything.
func (l *lab) close() {
	_, _, _ = l.do("teardown", "--yes")
	if left, err := harness.WaitForNone(l.root, 5*time.Second); err == nil && len(left) > 0 {
		harness.End(l.root, left)
	}
	os.RemoveAll(l.root)
}

// do runs a verb with --json and measures it.
func (l *lab) do(args ...string) (answer, figure, error) {
	cmd := exec.Command(l.forklift, append(args, "--json")...)
	cmd.Dir, cmd.Env = l.repo, l.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	wall := time.Since(begin)
	if err != nil {
		return answer{}, figure{}, fmt.Errorf("forklift %v: %w\n%s%s", args, err, stdout.String(), stderr.String())
	}
	var a answer
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		return answer{}, figure{}, err
	}
	memory := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "linux" {
		memory *= 1024
	}
	return a, figure{
		WallMs: float64(wall.Microseconds()) / 1000, AwayMs: float64(a.AwayMs), ReadBytes: a.ReadBytes,
		StoredBytes: a.AddedBytes, WriteBytes: a.PatchedBytes, MemoryBytes: memory,
	}, nil
}

// sql runs a statement under forklift run.
func (l *lab) sql(text string) error {
	cmd := exec.Command(l.forklift, "run", "--", filepath.Join(l.pg, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text)
	cmd.Dir, cmd.Env = l.repo, l.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", text, err, out)
	}
	return nil
}

// median is the figure of the middle, each value by itself; memory is the
// greatest.
func median(list []figure) figure {
	middle := func(value func(figure) float64) float64 {
		var values []float64
		for _, f := range list {
			values = append(values, value(f))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	m := figure{
		WallMs:      middle(func(f figure) float64 { return f.WallMs }),
		AwayMs:      middle(func(f figure) float64 { return f.AwayMs }),
		ReadBytes:   int64(middle(func(f figure) float64 { return float64(f.ReadBytes) })),
		StoredBytes: int64(middle(func(f figure) float64 { return float64(f.StoredBytes) })),
		WriteBytes:  int64(middle(func(f figure) float64 { return float64(f.WriteBytes) })),
	}
	for _, f := range list {
		m.MemoryBytes = max(m.MemoryBytes, f.MemoryBytes)
	}
	return m
}
