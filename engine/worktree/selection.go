package worktree

import (
	"fmt"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/engine/gitignore"
	"forklift/storage"
	"forklift/storage/fault"
)

// selection answers which paths a set of rules speaks for. The same answer
// is used by the scan that saves and by the plan that may remove.
type selection struct {
	starts  []string // clean, not overlapping; "." is everything
	ignore  *gitignore.Matcher
	ignored map[string]bool // what git ignores: a directory stands for all that is in it
	covered map[string]bool // further paths; true for a directory
	lead    map[string]bool // directories that lead to a start or a covered path
}

// newSelection makes the selection of rules. ignored counts only where the
// rules leave out what git ignores. covered is in the form of
// storage.SourceState.Covered.
func newSelection(sel config.Selection, ignored, covered []string) (*selection, error) {
	s := &selection{
		starts: sel.Source, ignore: gitignore.New(sel.Ignore),
		ignored: map[string]bool{}, covered: map[string]bool{}, lead: map[string]bool{},
	}
	if sel.Gitignored != config.Include {
		for _, p := range ignored {
			s.ignored[p] = true
		}
	}
	for _, quoted := range covered {
		p, err := UnquotePath(quoted)
		if err != nil {
			return nil, &fault.Error{Op: "read covered paths", Kind: fault.Corrupt, Err: err}
		}
		p, dir := strings.CutSuffix(p, "/")
		if err := checkPath(p); err != nil {
			return nil, err
		}
		s.covered[p] = dir
	}
	for _, p := range s.starts {
		if p != "." {
			if err := checkPath(p); err != nil {
				return nil, err
			}
		}
		prefixes(p, func(dir string) bool { s.lead[dir] = true; return true })
	}
	for p := range s.covered {
		prefixes(p, func(dir string) bool { s.lead[dir] = true; return true })
	}
	return s, nil
}

// sourceSelection is the selection that a pair's source half was made by.
func sourceSelection(src storage.SourceState, ignored []string) (*selection, error) {
	starts := make([]string, len(src.Paths))
	for i, quoted := range src.Paths {
		p, err := UnquotePath(quoted)
		if err != nil {
			return nil, &fault.Error{Op: "read checkpoint's sources", Kind: fault.Corrupt, Err: err}
		}
		starts[i] = p
	}
	return newSelection(config.Selection{Source: starts, Ignore: src.Ignore, Gitignored: src.Gitignored}, ignored, src.Covered)
}

// start finds the source that p is or is in.
func (s *selection) start(p string) (string, bool) {
	for _, start := range s.starts {
		if config.Within(p, start) && !(start == "." && p == config.Name) {
			return start, true
		}
	}
	return "", false
}

// named reports that p itself is a source.
func (s *selection) named(p string) bool { return slices.Contains(s.starts, p) }

// selects reports whether the rules, without what is covered beside them,
// speak for p. A source that is named is spoken for whatever would ignore
// it: who names it wants it. Ignoring counts below it.
func (s *selection) selects(p string, dir bool) bool {
	start, ok := s.start(p)
	if !ok || forbidden(p) {
		return false
	}
	if p == start {
		return true
	}
	excluded := false
	prefixes(p, func(q string) bool {
		excluded = (start == "." || below(q, start)) && (s.ignored[q] || s.ignore.Match(q, true))
		return !excluded
	})
	return !excluded && !s.ignored[p] && !s.ignore.Match(p, dir)
}

// covers reports whether p is covered beside the selection: by name, or
// inside a path that was covered as something other than a directory.
func (s *selection) covers(p string) bool {
	if _, ok := s.covered[p]; ok {
		return true
	}
	found := false
	prefixes(p, func(q string) bool {
		dir, ok := s.covered[q]
		found = ok && !dir
		return !found
	})
	return found
}

// forbidden reports a path that no rules speak for: Forklift's own staging
// directories and anything that a file system takes for `.git`.
func forbidden(p string) bool {
	if strings.HasPrefix(p, config.StagingPrefix) {
		return true
	}
	for e := range strings.SplitSeq(p, "/") {
		if config.Reserved(e) {
			return true
		}
	}
	return false
}

const (
	maxPathBytes    = 4095 // of a path
	maxElementBytes = 255  // of one name in it
)

// checkPath refuses a path that must never be written: one that could leave
// the worktree or mean something else than it says. Paths come from manifests
// and pairs, which somebody else may have made.
func checkPath(p string) error {
	refuse := func(why string) error {
		return &fault.Error{Op: "read checkpoint", Path: QuotePath(p), Kind: fault.Corrupt, Err: fmt.Errorf("path %s: %s", QuotePath(p), why),
			Hint: "The checkpoint was damaged or made to do harm; nothing was changed."}
	}
	switch {
	case p == "" || strings.HasPrefix(p, "/"):
		return refuse("not relative to the worktree")
	case len(p) > maxPathBytes:
		return refuse(fmt.Sprintf("longer than %d bytes", maxPathBytes))
	case strings.ContainsRune(p, 0):
		return refuse("it holds a NUL")
	case strings.HasPrefix(p, config.StagingPrefix):
		return refuse("it is in a staging directory")
	}
	for e := range strings.SplitSeq(p, "/") {
		switch {
		case e == "" || e == "." || e == "..":
			return refuse(fmt.Sprintf("it has the element %q", e))
		case len(e) > maxElementBytes:
			return refuse(fmt.Sprintf("a name of more than %d bytes", maxElementBytes))
		case config.Reserved(e):
			return refuse("it is git's own")
		}
	}
	return nil
}
