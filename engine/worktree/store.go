package worktree

import (
	"context"
	"io"
	"iter"

	"forklift/storage"
	"forklift/storage/vfs"
)

// Store is what the source half needs of the store; *storage.Store has it.
type Store interface {
	// Walk gives a manifest's entries in their order.
	Walk(ctx context.Context, manifest storage.ID) iter.Seq2[storage.Entry, error]
	// Reader gives the bytes of a regular file; it must be closed.
	Reader(ctx context.Context, e storage.Entry) (io.ReadCloser, error)
	// Extract writes the content of regular files under other names of
	// root, mode 0600, not flushed.
	Extract(ctx context.Context, root vfs.Root, files []storage.ExtractFile) error
	// HashFile is the content reference of a file of root.
	HashFile(ctx context.Context, root vfs.Root, path string, unit storage.Unit) (storage.Content, int64, error)
}

// Writer is what making a rescue manifest needs; *storage.Writer has it.
type Writer interface {
	// Content stores one file's bytes.
	Content(ctx context.Context, r io.Reader, unit storage.Unit) (storage.Content, int64, error)
	// Entries stores a manifest made of sorted entries.
	Entries(ctx context.Context, seq iter.Seq2[storage.Entry, error]) (storage.ID, error)
}

// Git answers what only git knows about the worktree.
type Git interface {
	// Ignored lists what git ignores now at and below paths; a directory
	// stands for all that is in it.
	Ignored(ctx context.Context, paths []string) ([]string, error)
	// Excludes gives the lines of the ignore files outside the worktree, the
	// ones that count least first.
	Excludes(ctx context.Context) ([]string, error)
	// Tracked lists the files at and below paths that are in the index.
	Tracked(ctx context.Context, paths []string) ([]string, error)
}

// both walks two manifests together. Each step gives the entries of one
// path, nil where a manifest does not have it. The zero ID is an empty one.
func both(ctx context.Context, store Store, a, b storage.ID) iter.Seq2[[2]*storage.Entry, error] {
	return merge(func() *cursor { return pull(ctx, store, a) }, func() *cursor { return pull(ctx, store, b) })
}

// merge walks two sequences of entries together, as both does.
func merge(a, b func() *cursor) iter.Seq2[[2]*storage.Entry, error] {
	return func(yield func([2]*storage.Entry, error) bool) {
		left, right := a(), b()
		defer left.stop()
		defer right.stop()
		for {
			if left.err != nil {
				yield([2]*storage.Entry{}, left.err)
				return
			}
			if right.err != nil {
				yield([2]*storage.Entry{}, right.err)
				return
			}
			l, r := left.at, right.at
			switch {
			case l == nil && r == nil:
				return
			case r == nil, l != nil && comparePaths(l.Path, r.Path) < 0:
				r = nil
			case l == nil, comparePaths(l.Path, r.Path) > 0:
				l = nil
			}
			if !yield([2]*storage.Entry{l, r}, nil) {
				return
			}
			if l != nil {
				left.advance()
			}
			if r != nil {
				right.advance()
			}
		}
	}
}

// cursor is a walk that is read step by step.
type cursor struct {
	next func() (storage.Entry, error, bool)
	stop func()
	at   *storage.Entry // nil at the end
	err  error
}

// pullFrom begins to read a sequence.
func pullFrom(seq iter.Seq2[storage.Entry, error]) func() *cursor {
	return func() *cursor {
		c := &cursor{}
		c.next, c.stop = iter.Pull2(seq)
		c.advance()
		return c
	}
}

func pull(ctx context.Context, store Store, manifest storage.ID) *cursor {
	c := &cursor{stop: func() {}}
	if manifest.IsZero() {
		return c
	}
	c.next, c.stop = iter.Pull2(store.Walk(ctx, manifest))
	c.advance()
	return c
}

func (c *cursor) advance() {
	e, err, ok := c.next()
	c.at = nil
	switch {
	case !ok:
	case err != nil:
		c.err = err
	default:
		c.at = &e
	}
}
