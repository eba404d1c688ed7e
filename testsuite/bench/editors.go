package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"forklift/testsuite/internal/lspclient"
)

// patience is how long an editor waits for anything.
const patience = 2 * time.Minute

// spread are the times of one thing that was done again and again.
type spread struct {
	N                       int
	P50Ms, P99Ms, GreatestM float64
}

func spreadOf(list []time.Duration) spread {
	slices.Sort(list)
	at := func(share int) float64 { return float64(list[(len(list)-1)*share/100].Microseconds()) / 1000 }
	return spread{len(list), at(50), at(99), at(100)}
}

// editorsReport is what -editors measures.
type editorsReport struct {
	Files     int               `json:"files"` // of the large repository
	Times     map[string]spread `json:"times"`
	Order     []string          `json:"order"`
	Storm     int               `json:"storm"`  // files changed at once
	Pushes    int               `json:"pushes"` // statuses that told of them
	MemoryOne int64             `json:"memory_one"`
	Worktrees int               `json:"worktrees"`
	Memory    int64             `json:"memory"`
}

func (r *editorsReport) add(name string, list []time.Duration) {
	r.Order = append(r.Order, name)
	r.Times[name] = spreadOf(list)
}

// editors measures what editors get, in a small repository and in one of many
// files.
func editors(opt options, pg string) (editorsReport, error) {
	r := editorsReport{Files: opt.files, Times: map[string]spread{}, Worktrees: opt.worktrees, Storm: min(10_000, opt.files)}
	small, err := newLab(opt, pg)
	if err != nil {
		return r, err
	}
	defer small.close()
	if err := small.editorsSmall(opt, &r); err != nil {
		return r, fmt.Errorf("small repository: %w", err)
	}
	large, err := newLab(opt, pg)
	if err != nil {
		return r, err
	}
	defer large.close()
	if err := large.editorsLarge(opt, &r); err != nil {
		return r, fmt.Errorf("large repository: %w", err)
	}
	return r, nil
}

// prepare sets the worktree up and captures c1.
func (l *lab) prepare() error {
	for _, argv := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", argv...)
		cmd.Dir, cmd.Env = l.repo, l.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w\n%s", argv, err, out)
		}
	}
	for _, argv := range [][]string{{"setup", "--yes"}, {"capture", "c1"}} {
		if _, _, err := l.do(argv...); err != nil {
			return err
		}
	}
	return nil
}

// open starts an editor, and tells how long its first answer took.
func (l *lab) open(dirs ...string) (*lspclient.Client, time.Duration, error) {
	cmd := exec.Command(l.forklift, "lsp")
	cmd.Dir, cmd.Env = l.repo, l.env
	begin := time.Now()
	c, err := lspclient.Start(cmd, patience)
	if err != nil {
		return nil, 0, err
	}
	err = c.Initialize(dirs...)
	return c, time.Since(begin), err
}

// stop ends the daemon, so that the next editor meets none.
func (l *lab) stop() error {
	_, _, err := l.do("daemon", "stop")
	return err
}

// resident is the daemon's memory.
func (l *lab) resident() (int64, error) {
	cmd := exec.Command(l.forklift, "daemon", "status", "--json")
	cmd.Dir, cmd.Env = l.repo, l.env
	out, err := cmd.Output()
	var s struct{ Daemon struct{ Resident int64 } }
	return s.Daemon.Resident, errors.Join(err, json.Unmarshal(out, &s))
}

// pushed is what is read of a pushed status.
type pushed struct {
	Worktree   struct{ Path string }
	Checkpoint *struct{ Name string }
	FileCount  int  `json:"file_count"`
	FilesKnown bool `json:"files_known"`
}

// until waits for a status that is pushed behind a mark.
func until(c *lspclient.Client, mark int, what string, want func(pushed) bool) error {
	_, err := c.Until(mark, what, func(m lspclient.Message) bool {
		var s pushed
		return m.Method == "forklift/status" && json.Unmarshal(m.Params, &s) == nil && want(s)
	})
	return err
}

// editorsSmall measures the start, round trips and many worktrees.
func (l *lab) editorsSmall(opt options, r *editorsReport) error {
	if err := l.prepare(); err != nil {
		return err
	}
	var cold, warm []time.Duration
	for range opt.rounds {
		if err := l.stop(); err != nil {
			return err
		}
		first, took, err := l.open(l.repo)
		if err != nil {
			return err
		}
		cold = append(cold, took)
		second, took, err := l.open(l.repo)
		if err != nil {
			return err
		}
		warm = append(warm, took)
		if err := errors.Join(first.Close(), second.Close()); err != nil {
			return err
		}
	}
	r.add("cold start to the first answer", cold)
	r.add("warm start to the first answer", warm)
	if err := l.roundTrips(r); err != nil {
		return err
	}
	c, _, err := l.open(l.repo)
	if err != nil {
		return err
	}
	if err := l.saves(c, r, "save to pushed status, 300 files"); err != nil {
		return err
	}
	if err := l.pushes(opt, c, r, "end of a capture to pushed status, 300 files"); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	return l.manyWorktrees(r)
}

// roundTrips asks for the status from eight editors at once.
func (l *lab) roundTrips(r *editorsReport) error {
	const clients, rounds = 8, 50
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c, _, err := l.open(l.repo)
			for range rounds {
				if err != nil {
					break
				}
				begin := time.Now()
				err = c.Command("status", map[string]any{}, nil)
				mu.Lock()
				all = append(all, time.Since(begin))
				mu.Unlock()
			}
			if c != nil {
				err = errors.Join(err, c.Close())
			}
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
		})
	}
	wg.Wait()
	if failed == nil {
		r.add(fmt.Sprintf("status round trip, %d editors at once", clients), all)
	}
	return failed
}

// saves writes one file after the other and waits for the status that tells.
func (l *lab) saves(c *lspclient.Client, r *editorsReport, name string) error {
	const files = 20
	if err := until(c, 0, "first status", func(s pushed) bool { return s.FilesKnown }); err != nil {
		return err
	}
	var all []time.Duration
	for i := range files {
		mark, begin := c.Mark(), time.Now()
		if err := os.WriteFile(filepath.Join(l.repo, "src", "d"+strconv.Itoa(i%10), "f"+strconv.Itoa(i)+".txt"), []byte("saved\n"), 0o644); err != nil {
			return err
		}
		if err := until(c, mark, "status", func(s pushed) bool { return s.FilesKnown && s.FileCount == i+1 }); err != nil {
			return err
		}
		all = append(all, time.Since(begin))
	}
	r.add(name, all)
	return nil
}

// pushes measures from the end of a capture by the command line.
func (l *lab) pushes(opt options, c *lspclient.Client, r *editorsReport, name string) error {
	var all []time.Duration
	for i := range opt.rounds {
		mark, checkpoint := c.Mark(), "p"+strconv.Itoa(i)
		if _, _, err := l.do("capture", checkpoint); err != nil {
			return err
		}
		begin := time.Now()
		if err := until(c, mark, "status", func(s pushed) bool { return s.Checkpoint != nil && s.Checkpoint.Name == checkpoint }); err != nil {
			return err
		}
		all = append(all, time.Since(begin))
	}
	r.add(name, all)
	return nil
}

// manyWorktrees opens worktrees in one editor and looks at the memory.
func (l *lab) manyWorktrees(r *editorsReport) error {
	dirs := []string{l.repo}
	for i := range r.Worktrees - 1 {
		dir := filepath.Join(l.root, "w"+strconv.Itoa(i))
		if _, _, err := l.do("worktree", "add", dir); err != nil {
			return err
		}
		dirs = append(dirs, dir)
	}
	if err := l.stop(); err != nil {
		return err
	}
	c, _, err := l.open(dirs...)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := until(c, 0, "status of "+dir, func(s pushed) bool { return s.Worktree.Path == dir }); err != nil {
			return err
		}
	}
	if r.Memory, err = l.resident(); err != nil {
		return err
	}
	return errors.Join(c.Close(), l.stop())
}

// editorsLarge measures with many files.
func (l *lab) editorsLarge(opt options, r *editorsReport) error {
	for i := range opt.files {
		file := filepath.Join(l.repo, "src", "large", strconv.Itoa(i/100), strconv.Itoa(i)+".txt")
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, []byte("file "+strconv.Itoa(i)+"\n"), 0o644); err != nil {
			return err
		}
	}
	if err := l.prepare(); err != nil {
		return err
	}
	name := fmt.Sprintf(", %d files", opt.files)
	var attach, first []time.Duration
	var c *lspclient.Client
	for i := range opt.rounds {
		begin := time.Now()
		var err error
		var took time.Duration
		if c, took, err = l.open(l.repo); err != nil {
			return err
		}
		attach = append(attach, took)
		if err := until(c, 0, "first status", func(s pushed) bool { return s.FilesKnown }); err != nil {
			return err
		}
		first = append(first, time.Since(begin))
		if i+1 < opt.rounds {
			if err := errors.Join(c.Close(), l.stop()); err != nil {
				return err
			}
		}
	}
	r.add("cold start to the first answer"+name, attach)
	r.add("cold start to the first whole status"+name, first)
	if err := l.saves(c, r, "save to pushed status"+name); err != nil {
		return err
	}
	if err := l.pushes(opt, c, r, "end of a capture to pushed status"+name); err != nil {
		return err
	}
	if err := l.storm(c, r); err != nil {
		return err
	}
	var err error
	if r.MemoryOne, err = l.resident(); err != nil {
		return err
	}
	return errors.Join(c.Close(), l.stop())
}

// storm changes many files at once and waits until all are told.
func (l *lab) storm(c *lspclient.Client, r *editorsReport) error {
	mark, begin := c.Mark(), time.Now()
	for i := range r.Storm {
		file := filepath.Join(l.repo, "src", "large", strconv.Itoa(i/100), strconv.Itoa(i)+".txt")
		if err := os.WriteFile(file, []byte("storm "+strconv.Itoa(i)+"\n"), 0o644); err != nil {
			return err
		}
	}
	end := time.Now()
	err := until(c, mark, "status", func(s pushed) bool { r.Pushes++; return s.FilesKnown && s.FileCount == r.Storm })
	r.add(fmt.Sprintf("end of %d changes to the status with all", r.Storm), []time.Duration{time.Since(end)})
	r.add(fmt.Sprintf("%d changes", r.Storm), []time.Duration{end.Sub(begin)})
	return err
}

// editorsTable is the report for people.
func editorsTable(r editorsReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-58s %5s %9s %9s %9s\n", "", "n", "p50", "p99", "greatest")
	for _, name := range r.Order {
		s := r.Times[name]
		fmt.Fprintf(&b, "  %-58s %5d %6.1f ms %6.1f ms %6.1f ms\n", name, s.N, s.P50Ms, s.P99Ms, s.GreatestM)
	}
	fmt.Fprintf(&b, "  statuses pushed for the %d changes: %d\n", r.Storm, r.Pushes)
	fmt.Fprintf(&b, "  memory of the daemon: %s with %d files, %s with %d worktrees\n", size(r.MemoryOne), r.Files, size(r.Memory), r.Worktrees)
	return b.String()
}
