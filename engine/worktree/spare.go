package worktree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"forklift/engine/gitignore"
	"forklift/storage"
	"forklift/storage/vfs"
)

const (
	ignoreFileName = ".gitignore"
	// maxIgnoreBytes limits one ignore file.
	maxIgnoreBytes = 1 << 20
)

// anything stands for an ignore file that is too long or cannot be read: it
// is taken to ignore everything below the sources.
var anything = gitignore.New(nil)

// sparer takes those removals out of a plan that the target's rules do not
// select because git ignores the path by the ignore files that are there
// after the restore: the target's own, and where the target does not speak for
// the ignore file the one that is there now. As for git, what is tracked is not
// ignored.
type sparer struct {
	store Store
	root  vfs.Root
	git   Git // nil answers nothing

	p       *planner
	start   string             // the source that is looked at
	base    *gitignore.Matcher // the ignore files outside the worktree
	files   map[string]*gitignore.Matcher
	tracked map[string]bool // files of the index, and the directories that lead to them
}

// isIgnoreFile reports the path of an ignore file.
func isIgnoreFile(p string) bool { return path.Base(p) == ignoreFileName }

// run takes the removals out. One in a directory that something else takes
// the place of cannot be spared: it blocks the plan or, behind the switch,
// stays in it.
func (s *sparer) run(ctx context.Context, p *planner) error {
	s.p, s.files, s.tracked = p, map[string]*gitignore.Matcher{}, map[string]bool{}
	matched, err := s.matched(ctx)
	if err != nil || len(matched) == 0 {
		return err
	}
	tops := map[string]bool{}
	for _, top := range matched {
		tops[top] = true
	}
	if err := s.readIndex(ctx, tops); err != nil {
		return err
	}
	kept := p.Steps[:0]
	for i := range p.Steps {
		st := p.Steps[i]
		if _, ok := matched[st.Path]; !ok || st.Want != nil || s.tracked[st.Path] {
			kept = append(kept, st)
			continue
		}
		if st.replaced {
			p.block(st.Path, "the checkpoint's "+ignoreFileName+" ignores it")
			kept = append(kept, st)
		}
	}
	p.Steps = kept
	return nil
}

// matched gives the removals that match the ignore files, each with the
// topmost path that does: itself or a directory that it is in.
func (s *sparer) matched(ctx context.Context) (map[string]string, error) {
	matched := map[string]string{}
	inert := map[string]bool{} // sources that are ignored themselves: below a source that is named all counts
	for i := range s.p.Steps {
		st := &s.p.Steps[i]
		if st.Want != nil || s.p.target.covers(st.Path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.begin(ctx); err != nil {
			return nil, err
		}
		start, ok := s.p.target.start(st.Path)
		if !ok || st.Path == start {
			continue
		}
		s.start = start
		off, known := inert[start]
		if !known && start != "." {
			top, err := s.top(ctx, start, true)
			if err != nil {
				return nil, err
			}
			off = top != ""
			inert[start] = off
		}
		if off {
			continue
		}
		top, err := s.top(ctx, st.Path, st.Have.Type == storage.Directory)
		if err != nil {
			return nil, err
		}
		if top != "" {
			matched[st.Path] = top
		}
	}
	return matched, nil
}

// begin reads the ignore files outside the worktree, once.
func (s *sparer) begin(ctx context.Context) error {
	if s.base != nil {
		return nil
	}
	var lines []string
	if s.git != nil {
		var err error
		if lines, err = s.git.Excludes(ctx); err != nil {
			return err
		}
	}
	s.base = gitignore.New(lines)
	return nil
}

// top is the topmost of p and the directories that lead to it that is
// ignored, "" for none.
func (s *sparer) top(ctx context.Context, p string, dir bool) (top string, err error) {
	prefixes(p, func(q string) bool {
		var excluded bool
		if excluded, err = s.excluded(ctx, q, true); excluded {
			top = q
		}
		return !excluded && err == nil
	})
	if top != "" || err != nil {
		return top, err
	}
	excluded, err := s.excluded(ctx, p, dir)
	if excluded {
		top = p
	}
	return top, err
}

// excluded reports whether p itself is ignored: the ignore file next to it
// counts most, those outside the worktree least.
func (s *sparer) excluded(ctx context.Context, p string, dir bool) (bool, error) {
	for at := p; at != "."; {
		at = parentOf(at)
		m, err := s.in(ctx, at)
		if err != nil {
			return false, err
		}
		if m == anything {
			if below(p, s.start) {
				return true, nil
			}
			continue
		}
		rel := p
		if at != "." {
			rel = p[len(at)+1:]
		}
		if excluded, decided := m.Decide(rel, dir); decided {
			return excluded, nil
		}
	}
	return s.base.Match(p, dir), nil
}

// in gives the patterns of a directory's ignore file.
func (s *sparer) in(ctx context.Context, dir string) (*gitignore.Matcher, error) {
	if m := s.files[dir]; m != nil {
		return m, nil
	}
	text, err := s.text(ctx, path.Join(dir, ignoreFileName))
	m := gitignore.Read(text)
	if errors.Is(err, fs.ErrPermission) || err == nil && len(text) > maxIgnoreBytes {
		m, err = anything, nil
	}
	if err != nil {
		return nil, err
	}
	s.files[dir] = m
	return m, nil
}

// text is the content that an ignore file has after the restore, "" for none.
// Like git it takes no notice of one that is a link.
func (s *sparer) text(ctx context.Context, name string) (string, error) {
	var r io.ReadCloser
	var err error
	e := s.p.ignoreFiles[name]
	switch {
	case kind(e) == storage.Regular:
		r, err = s.store.Reader(ctx, *e)
	case kind(e) == storage.Omitted, e == nil && !s.p.target.covers(name) && !s.p.target.selects(name, false):
		info, lerr := s.root.Lstat(name)
		if absent(lerr) || lerr == nil && !info.IsRegular() {
			return "", nil
		}
		if lerr != nil {
			return "", lerr
		}
		r, err = s.root.OpenFile(name, os.O_RDONLY, 0)
	default:
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxIgnoreBytes+1))
	return string(text), err
}

// readIndex learns what git tracks at and below the ignored paths.
func (s *sparer) readIndex(ctx context.Context, tops map[string]bool) error {
	if s.git == nil {
		return nil
	}
	list := make([]string, 0, len(tops))
	for p := range tops {
		list = append(list, p)
	}
	slices.Sort(list)
	files, err := s.git.Tracked(ctx, list)
	if err != nil {
		return err
	}
	for _, p := range files {
		s.tracked[p] = true
		prefixes(p, func(q string) bool { s.tracked[q] = true; return true })
	}
	return nil
}
