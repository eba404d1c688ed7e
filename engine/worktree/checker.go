package worktree

import (
	"errors"
	"fmt"
	"strings"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
)

// checker refuses entries of a target that no capture makes.
type checker struct {
	sel  *selection
	last string   // the path before
	open []string // the directories that lead to it, "." aside
	any  bool
}

const (
	maxTargetBytes = 4095     // of a symbolic link
	maxXattrBytes  = 64 << 10 // of one attribute's value
	maxXattrs      = 1024     // of one file
)

// entry checks one entry; they must come in order.
func (c *checker) entry(e *storage.Entry) error {
	refuse := func(why string) error {
		return &fault.Error{Op: "read checkpoint", Path: QuotePath(e.Path), Kind: fault.Corrupt, Err: fmt.Errorf("path %s: %s", QuotePath(e.Path), why),
			Hint: "The checkpoint was damaged or made to do harm; nothing was changed."}
	}
	if c.any && comparePaths(c.last, e.Path) >= 0 {
		return refuse("it is out of order")
	}
	c.any, c.last = true, e.Path
	if e.Path == "." {
		if e.Type != storage.Directory {
			return refuse("the top is not a directory")
		}
		return nil
	}
	if e.Type == storage.Omitted && forbidden(e.Path) {
		return nil // left out under a name that is never written
	}
	if err := checkPath(e.Path); err != nil {
		return err
	}
	for len(c.open) > 0 && !below(e.Path, c.open[len(c.open)-1]) {
		c.open = c.open[:len(c.open)-1]
	}
	parent := parentOf(e.Path)
	if parent != "." && (len(c.open) == 0 || c.open[len(c.open)-1] != parent) {
		return refuse("what it is in is not a directory of the checkpoint")
	}
	if err := c.content(e); err != nil {
		return refuse(err.Error())
	}
	if e.Type == storage.Directory {
		c.open = append(c.open, e.Path)
	}
	if _, inside := c.sel.start(e.Path); !inside && !c.sel.covers(e.Path) && !(e.Type == storage.Directory && c.sel.lead[e.Path]) {
		return refuse("it is outside the checkpoint's sources")
	}
	if e.Path == config.Name && e.Type != storage.Omitted && !c.sel.named(e.Path) && !c.sel.covers(e.Path) {
		return refuse("the sources do not name it")
	}
	return nil
}

// content checks what an entry says beside its path.
func (c *checker) content(e *storage.Entry) error {
	if e.Mode > storage.MaxMode {
		return fmt.Errorf("mode %o has more than the bits of a mode", e.Mode)
	}
	if len(e.Xattrs) > maxXattrs {
		return fmt.Errorf("%d extended attributes", len(e.Xattrs))
	}
	for _, x := range e.Xattrs {
		if !strings.HasPrefix(x.Name, "user.") || len(x.Name) > maxElementBytes || strings.ContainsRune(x.Name, 0) || len(x.Value) > maxXattrBytes {
			return fmt.Errorf("extended attribute %q", x.Name)
		}
	}
	switch e.Type {
	case storage.Directory, storage.Omitted:
		return nil
	case storage.Regular:
		if e.Size < 0 {
			return fmt.Errorf("size %d", e.Size)
		}
		return nil
	case storage.Symlink:
		if e.Target == "" || len(e.Target) > maxTargetBytes || strings.ContainsRune(e.Target, 0) {
			return errors.New("a symbolic link that says nothing or too much")
		}
		return nil
	}
	return fmt.Errorf("type %d", e.Type)
}
