package worktree

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
)

// step is one path that a restore changes. Want is the target's entry, Have
// the saved one; nil means that there is nothing.
type step struct {
	Path string
	Want *storage.Entry
	Have *storage.Entry

	replaced bool // in a directory that becomes something else; known while planning
}

// kind of an entry, 0 for none.
func kind(e *storage.Entry) storage.EntryType {
	if e == nil {
		return 0
	}
	return e.Type
}

// modeOnly reports a step that only sets the mode.
func (s *step) modeOnly() bool {
	return kind(s.Want) == kind(s.Have) && (s.Want.Type == storage.Directory || sameContent(s.Want, s.Have))
}

// staged reports a step whose new file is prepared in the staging directory.
func (s *step) staged() bool { return kind(s.Want) == storage.Regular && !s.modeOnly() }

// dirMode is a directory that must be made writable for the install, and the
// mode that it has afterwards, if it still is there.
type dirMode struct {
	Path string
	Mode uint32
}

// plan is what a restore does, in the order of the paths.
type plan struct {
	Steps []step
	Opens []dirMode // directories that their mode protects, in order
	Kept  int       // files that are right already
	// Touched are the directories that exist and get or lose a name, with
	// the mode they were saved with.
	touched map[string]uint32
	// collisions are pairs of target paths that only differ in case.
	collisions []string
}

// planner makes a plan from a walk over both manifests.
type planner struct {
	plan
	target  *selection
	back    bool                 // the saved side is a restore's target, which is partly installed
	lenient bool                 // after the switch: nothing is refused
	omitted [2]string            // the last omitted path of each side, "" for none
	modes   [2]map[string]uint32 // of the directories of each side
	blocked []string             // what cannot be replaced, with reasons
	check   checker
	folded  map[string]string // target paths by their form without case; nil where case counts
	// ignoreFiles are the target's entries for .gitignore files, by path.
	ignoreFiles map[string]*storage.Entry
	// replacing is a directory that a file or link takes the place of: all
	// that is in it must go.
	replacing string
}

// planOptions are what a plan depends on beside the two states.
type planOptions struct {
	ignored  []string // what git ignores of the target's paths, if that counts
	lenient  bool     // after the switch: nothing is refused
	caseless bool     // the file system takes names that differ in case for one
	spare    *sparer  // finds what the target's ignore files ignore; nil where that does not count
	only     only     // the paths that the restore is about; nil is all
	// present is the saved side where it is not in the store.
	present iter.Seq2[storage.Entry, error]
}

// makePlan compares the saved state with the target. Nothing is looked at but
// the manifests and, by opt.spare, ignore files.
func makePlan(ctx context.Context, store Store, saved, target storage.SourceState, opt planOptions) (*plan, error) {
	sel, err := sourceSelection(target, opt.ignored)
	if err != nil {
		return nil, err
	}
	p := &planner{target: sel, lenient: opt.lenient, check: checker{sel: sel}, ignoreFiles: map[string]*storage.Entry{}}
	if opt.caseless {
		p.folded = map[string]string{}
	}
	p.modes = [2]map[string]uint32{{}, {}}
	pairs := both(ctx, store, saved.Manifest, target.Manifest)
	if opt.present != nil {
		pairs = merge(pullFrom(opt.present), func() *cursor { return pull(ctx, store, target.Manifest) })
	}
	for pair, err := range pairs {
		if err != nil {
			return nil, fmt.Errorf("compare checkpoints: %w", err)
		}
		if pair[1] != nil {
			if err := p.check.entry(pair[1]); err != nil {
				return nil, err
			}
		}
		p.pair(opt.only, pair)
	}
	if opt.spare != nil {
		if err := opt.spare.run(ctx, p); err != nil {
			return nil, fmt.Errorf("plan restore: %w", err)
		}
	}
	if len(p.blocked) > 0 {
		return nil, &fault.Error{Op: "plan restore", Kind: fault.Failed, Err: fmt.Errorf("%s is in the way and cannot be saved", strings.Join(p.blocked[:1], "")), Items: p.blocked,
			Hint: "Move it away, then restore again; nothing was changed."}
	}
	if len(p.collisions) > 0 {
		return nil, &fault.Error{Op: "plan restore", Kind: fault.Unsupported, Items: p.collisions,
			Err:  fmt.Errorf("this file system takes %s for one name", p.collisions[0]),
			Hint: "Restore into a worktree on a file system where upper and lower case differ."}
	}
	p.directories()
	return &p.plan, nil
}

// pair decides about one path of a restore that may be about some paths only.
func (p *planner) pair(o only, pair [2]*storage.Entry) {
	e := pair[0]
	if e == nil {
		e = pair[1]
	}
	look, note := o.passes(e.Path, pair)
	switch {
	case look:
		p.path(pair[0], pair[1])
	case note:
		p.note(0, e.Path, pair[0])
		p.note(1, e.Path, pair[1])
	}
}

// path decides about one path.
func (p *planner) path(have, want *storage.Entry) {
	e := have
	if e == nil {
		e = want
	}
	path := e.Path
	inHave, inWant := p.note(0, path, have), p.note(1, path, want)
	if want != nil && isIgnoreFile(path) {
		p.ignoreFiles[path] = want
	}
	switch {
	case path == ".":
		// The worktree's own directory is nobody's entry: its mode stays.
	case inWant:
		// The target left it out, so what is there now stays, whatever it is.
	case inHave:
		p.underOmitted(path, have, want)
	case want == nil:
		if p.removable(have) {
			p.Steps = append(p.Steps, step{Path: path, Have: have, replaced: p.inReplaced(path)})
		} else if p.inReplaced(path) {
			p.block(path, "the checkpoint ignores it")
		}
	default:
		p.fold(path)
		p.wanted(path, have, want)
	}
}

// note keeps track of a side's directories and omitted paths, and tells
// whether path was omitted on that side.
func (p *planner) note(side int, path string, e *storage.Entry) bool {
	switch kind(e) {
	case storage.Directory:
		p.modes[side][path] = e.Mode
	case storage.Omitted:
		p.omitted[side] = path
	}
	at := p.omitted[side]
	return at != "" && config.Within(path, at)
}

// underOmitted is a target's path where the saved state left something out:
// that must not be replaced. The directory of another repository can stay for
// a directory of the target, as long as nothing is wanted in it.
func (p *planner) underOmitted(path string, have, want *storage.Entry) {
	if want == nil && !p.inReplaced(path) {
		return
	}
	if have != nil && have.Reason == ReasonRepository && kind(want) == storage.Directory {
		return
	}
	reason := "it was left out"
	if have != nil {
		reason = have.Reason
	}
	p.block(path, reason)
}

// inReplaced reports a path in a directory that is to become something else.
func (p *planner) inReplaced(path string) bool {
	return p.replacing != "" && below(path, p.replacing)
}

// block records a path that cannot be saved and would have to go.
func (p *planner) block(path, reason string) {
	if !p.lenient {
		p.blocked = append(p.blocked, fmt.Sprintf("%s (%s)", QuotePath(path), reason))
	}
}

// wanted is a path of the target that is not omitted on either side.
func (p *planner) wanted(path string, have, want *storage.Entry) {
	s := step{Path: path, Want: want, Have: have}
	same := have != nil && want.Type == have.Type
	switch {
	case same && want.Type == storage.Directory:
		// A directory that merely leads to a source is not the checkpoint's.
		if want.Mode != have.Mode && (p.target.selects(path, true) || p.target.covers(path)) {
			p.Steps = append(p.Steps, s)
		}
	case same && sameContent(want, have) && (want.Mode == have.Mode || want.Type == storage.Symlink):
		p.Kept++
	default:
		if kind(have) == storage.Directory {
			p.replacing = path
		}
		p.Steps = append(p.Steps, s)
	}
}

// removable reports a saved path that the target speaks for and does not
// have.
func (p *planner) removable(have *storage.Entry) bool {
	return p.target.covers(have.Path) || p.target.selects(have.Path, have.Type == storage.Directory)
}

// fold looks for two target paths that a file system without case would take
// for one.
func (p *planner) fold(path string) {
	if p.folded == nil {
		return
	}
	key := foldPath(path)
	if other, ok := p.folded[key]; ok && other != path {
		p.collisions = append(p.collisions, QuotePath(other)+" and "+QuotePath(path))
		return
	}
	p.folded[key] = path
}

// foldPath is the form that all paths have in common that differ only in case.
func foldPath(p string) string { return strings.Map(foldRune, p) }

// foldRune is the least of the characters that differ from r only in case.
func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// writable are the bits that the owner needs to change a directory.
const writable = 0o700

// directories finds the directories that the steps change, and those that
// their modes protect.
func (p *planner) directories() {
	p.touched = map[string]uint32{}
	changed := map[string]bool{}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.modeOnly() {
			continue
		}
		changed[parentOf(s.Path)] = true
		if kind(s.Have) == storage.Directory {
			changed[s.Path] = true // removed, or replaced by a file
		}
	}
	for dir := range changed {
		mode, existed := p.modes[0][dir]
		if !existed {
			continue // made by the install
		}
		p.touched[dir] = mode
		ours := p.target.selects(dir, true) || p.target.covers(dir)
		final, stays := p.modes[1][dir]
		if !stays || !ours {
			final = mode
		}
		// Both modes count: when a restore is taken back, the directory may
		// have the one or the other now.
		if dir != "." && mode&final&writable != writable {
			p.Opens = append(p.Opens, dirMode{Path: dir, Mode: final})
		}
	}
	slices.SortFunc(p.Opens, func(a, b dirMode) int { return comparePaths(a.Path, b.Path) })
}

// sameContent reports entries of one type with equal bytes and attributes;
// times, holes and modes do not count.
func sameContent(a, b *storage.Entry) bool {
	if a.Type != b.Type || a.Size != b.Size || a.Target != b.Target || a.Content != b.Content || len(a.Xattrs) != len(b.Xattrs) {
		return false
	}
	for i := range a.Xattrs {
		if a.Xattrs[i].Name != b.Xattrs[i].Name || string(a.Xattrs[i].Value) != string(b.Xattrs[i].Value) {
			return false
		}
	}
	return true
}
