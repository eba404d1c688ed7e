package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// installRecord remembers the installation that a branch uses, so that not
// every start has to look for one and run postgres -V. It counts as long as
// the program is the same file.
type installRecord struct {
	Installation Installation `json:"installation"`
	Size         int64        `json:"size"` // of the program postgres
	Mtime        int64        `json:"mtime"`
	Ino          uint64       `json:"ino"`
}

// The record's place and format.
const (
	installName   = "installation.json"
	installKind   = "postgres-installation"
	installFormat = 1
)

// installation finds the PostgreSQL for what a slot holds.
func (c *cluster) installation(ctx context.Context, slot engine.Slot) (*Installation, error) {
	major, err := c.slotMajor(slot)
	if err != nil {
		return nil, err
	}
	return c.installed(ctx, major)
}

// installed finds the PostgreSQL for a major version; 0 is for a new cluster.
func (c *cluster) installed(ctx context.Context, major int) (*Installation, error) {
	c.mu.Lock()
	inst := c.inst
	c.mu.Unlock()
	fits := func(i *Installation) bool { return i != nil && (major == 0 || i.Major == major) }
	if fits(inst) {
		return inst, nil
	}
	if inst = c.recalled(); !fits(inst) {
		var err error
		if inst, err = c.opt.choose(ctx, major); err != nil {
			return nil, err
		}
		if err := c.recall(inst); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	c.inst = inst
	c.mu.Unlock()
	return inst, nil
}

// recalled reads the record; nil where it does not count.
func (c *cluster) recalled() *Installation {
	var rec installRecord
	if record.Read(c.opt.FS, c.runFile(installName), installKind, installFormat, &rec) != nil {
		return nil
	}
	inst := rec.Installation
	now, err := signature(inst.Bin)
	if err != nil || now.Size != rec.Size || now.Mtime != rec.Mtime || now.Ino != rec.Ino {
		return nil
	}
	named := c.opt.Bin
	if named == "" {
		named = c.opt.getenv("FORKLIFT_PG_BIN")
	}
	if named == "" {
		// Found by looking: something better may be there by now, but a
		// branch stays with what it uses.
		return &inst
	}
	if bin, err := filepath.EvalSymlinks(named); err != nil || bin != inst.Bin {
		return nil
	}
	return &inst
}

// recall writes the record, where there is a directory for it already.
func (c *cluster) recall(inst *Installation) error {
	if _, err := c.opt.FS.Lstat(c.branch.RunDir()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	rec, err := signature(inst.Bin)
	if err != nil {
		return &fault.Error{Op: "look at postgres", Path: inst.Bin, Err: err}
	}
	rec.Installation = *inst
	return record.Write(c.opt.FS, c.runFile(installName), installKind, installFormat, rec)
}

// signature tells whether the program was replaced.
func signature(bin string) (installRecord, error) {
	info, err := os.Stat(filepath.Join(bin, "postgres"))
	if err != nil {
		return installRecord{}, fmt.Errorf("stat: %w", err)
	}
	rec := installRecord{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		rec.Ino = stat.Ino
	}
	return rec, nil
}

// running is the installation that this process has chosen already, or nil.
func (c *cluster) running() *Installation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inst == nil {
		return c.recalled()
	}
	return c.inst
}
