package worktree

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/storage"
)

// only limits a restore to some paths and what is in them; nil does not.
type only []string

// speaks reports a path that the restore is about.
func (o only) speaks(p string) bool {
	return o == nil || slices.ContainsFunc(o, func(q string) bool { return q == "." || config.Within(p, q) })
}

// leads reports a path that one of them is in.
func (o only) leads(p string) bool {
	return p == "." || slices.ContainsFunc(o, func(q string) bool { return below(q, p) })
}

// passes reports whether a plan looks at a pair of entries: those that the
// restore is about, and what leads to them, unless that is a directory
// already, whose mode then stays.
func (o only) passes(path string, pair [2]*storage.Entry) (look, note bool) {
	if o.speaks(path) {
		return true, false
	}
	if !o.leads(path) {
		return false, false
	}
	both := kind(pair[0]) == storage.Directory && kind(pair[1]) == storage.Directory
	return !both, both
}

// RestrictCovered leaves of what Covered gave only what a restore of some
// paths may write or remove.
func RestrictCovered(covered, paths []string) []string {
	o := only(paths)
	return slices.DeleteFunc(slices.Clone(covered), func(quoted string) bool {
		p, err := UnquotePath(quoted)
		p = strings.TrimSuffix(p, "/")
		return err == nil && !o.speaks(p) && !o.leads(p)
	})
}

// PreviewStep is a path that a restore would change.
type PreviewStep struct {
	Path   string // quoted where it is not UTF-8; a directory ends in "/"
	Change string // Added, Modified, Removed or ModeModified
	Size   int64  // bytes that would be written
	// Old and New identify what is there and what would be: type, mode and
	// content; "" for nothing.
	Old, New string
}

// Preview tells what Stage would prepare, and refuses what it would refuse,
// without changing anything. present is the present state as Present gives it;
// opt.Saved needs only say by which rules. kept counts files that are right.
func Preview(ctx context.Context, opt StageOptions, present iter.Seq2[storage.Entry, error]) (steps []PreviewStep, kept int, err error) {
	root, err := opt.FS.OpenRoot(opt.Dir)
	if err != nil {
		return nil, 0, fmt.Errorf("plan restore: %w", err)
	}
	defer func() { _ = root.Close() }()
	opt.present = present
	plan, err := planFor(ctx, root, opt)
	if err != nil {
		return nil, 0, err
	}
	c := &checks{root: root, dir: opt.Dir, plan: plan, caseless: caseless(root)}
	if err := c.run(ctx); err != nil {
		return nil, 0, err
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		p := PreviewStep{Path: coveredPath(s.Path, kind(s.Have) == storage.Directory || kind(s.Want) == storage.Directory),
			Change: Modified, Old: identity(s.Have), New: identity(s.Want)}
		switch {
		case s.Want == nil:
			p.Change = Removed
		case s.Have == nil:
			p.Change = Added
		case s.modeOnly():
			p.Change = ModeModified
		}
		if s.staged() {
			p.Size = s.Want.Size
		}
		steps = append(steps, p)
	}
	return steps, plan.Kept, nil
}

// identity is what an entry is, in a word.
func identity(e *storage.Entry) string {
	if e == nil {
		return ""
	}
	text := fmt.Sprintf("%d %04o", e.Type, e.Mode)
	switch e.Type {
	case storage.Symlink:
		return "link " + QuotePath(e.Target)
	case storage.Regular:
		text += fmt.Sprintf(" %d %d.%s", e.Size, e.Content.Depth, e.Content.Root)
		for _, x := range e.Xattrs {
			text += fmt.Sprintf(" %q=%q", x.Name, x.Value)
		}
	}
	return text
}
