package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"forklift/testsuite/internal/harness"
)

// measure makes a database of size MiB and measures everything with it.
func measure(opt options, pg string, size int) (r result, err error) {
	l, err := newLab(opt, pg)
	if err != nil {
		return r, err
	}
	defer l.close()
	r.PayloadMiB = size
	sql := filepath.Join(l.root, "load.sql")
	if err := os.WriteFile(sql, fmt.Appendf(nil, load, size<<20/rowBytes), 0o644); err != nil {
		return r, err
	}
	if _, r.SeedCreate, err = l.do("seed", "create", "payload", "--sql", sql); err != nil {
		return r, err
	}
	if _, r.Setup, err = l.do("setup", "--seed", "payload", "--yes"); err != nil {
		return r, err
	}
	if r.Floor, err = l.floor(opt.rounds); err != nil {
		return r, err
	}
	if _, _, err = l.do("db", "start"); err != nil {
		return r, err
	}
	if err := l.captures(opt.rounds, &r); err != nil {
		return r, err
	}
	if err := l.restores(opt.rounds, &r); err != nil {
		return r, err
	}
	return r, l.preparedRestore(&r)
}

// preparedRestore measures the first restore of a second worktree, whose idle
// slot the daemon has prepared.
func (l *lab) preparedRestore(r *result) error {
	second := *l
	second.repo = l.repo + "-2"
	for _, argv := range [][]string{{"git", "commit", "-q", "--allow-empty", "-m", "first"}, {"git", "worktree", "add", "-q", second.repo}, {"cp", "-a", l.repo + "/src", l.repo + "/.forklift.json", second.repo}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = l.repo, l.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", argv, err, out)
		}
	}
	defer func() { _, _, _ = second.do("teardown", "--yes") }()
	for _, argv := range [][]string{{"setup", "--seed", "payload", "--yes"}, {"db", "start"}, {"capture", "base"}} {
		if _, _, err := second.do(argv...); err != nil {
			return err
		}
	}
	editor, _, err := second.open(second.repo)
	if err != nil {
		return err
	}
	if err := second.awaitPrepared(); err != nil {
		return errors.Join(err, editor.Close())
	}
	if err := second.sql("UPDATE payload SET n = n + 1 WHERE id = 5"); err != nil {
		return errors.Join(err, editor.Close())
	}
	_, r.Prepared, err = second.do("restore", "base")
	return errors.Join(err, editor.Close(), second.stop())
}

// awaitPrepared waits until the daemon's log says that it has prepared a slot.
func (l *lab) awaitPrepared() error {
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(filepath.Join(harness.Lookup(l.env, "XDG_STATE_HOME"), "forklift", "daemon.log"))
		if err == nil && strings.Contains(string(text), "prepared the idle database slot") {
			return nil
		}
		select {
		case <-deadline:
			return errors.New("the daemon does not prepare the idle slot")
		case <-tick.C:
		}
	}
}

// captures measures captures while the server runs.
func (l *lab) captures(rounds int, r *result) error {
	first, f, err := l.do("capture", "base")
	if err != nil {
		return err
	}
	r.FirstCapture, r.DataBytes = f, first.DataBytes
	var changed, same []figure
	for i := range rounds {
		if err := l.sql(fmt.Sprintf("UPDATE payload SET n = n + 1 WHERE id = %d", 1+i*1009)); err != nil {
			return err
		}
		_, f, err := l.do("capture", fmt.Sprintf("row-%d", i))
		if err != nil {
			return err
		}
		changed = append(changed, f)
		if _, f, err = l.do("capture", fmt.Sprintf("same-%d", i)); err != nil {
			return err
		}
		same = append(same, f)
	}
	r.OneRow, r.NoChange = median(changed), median(same)
	return nil
}

// restores measures restores while the server runs; each saves the present
// state first, in which one row has changed.
func (l *lab) restores(rounds int, r *result) error {
	var later, undone []figure
	for i := range rounds + 1 {
		if err := l.sql(fmt.Sprintf("UPDATE payload SET n = n + 1 WHERE id = %d", 5+i*1013)); err != nil {
			return err
		}
		_, f, err := l.do("restore", "base")
		if err != nil {
			return err
		}
		if i == 0 {
			r.FirstRestore = f
			continue
		}
		later = append(later, f)
		if _, f, err = l.do("undo"); err != nil {
			return err
		}
		undone = append(undone, f)
	}
	r.SecondRestore, r.Undo = median(later), median(undone)
	return nil
}
