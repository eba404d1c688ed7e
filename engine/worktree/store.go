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
	next func() (*storage.Entry, error) // nil at the end; not to be called again behind that
	stop func()
	at   *storage.Entry // nil at the end
	err  error
}

// pullFrom begins to read a sequence.
func pullFrom(seq iter.Seq2[storage.Entry, error]) func() *cursor {
	return func() *cursor {
		c := &cursor{}
		next, stop := iter.Pull2(seq)
		c.stop, c.next = stop, func() (*storage.Entry, error) {
			e, err, ok := next()
			if !ok || err != nil {
				return nil, err
			}
			return &e, nil
		}
		c.advance()
		return c
	}
}

func pull(ctx context.Context, store Store, manifest storage.ID) *cursor {
	if manifest.IsZero() {
		return &cursor{stop: func() {}}
	}
	return pullFrom(store.Walk(ctx, manifest))()
}

func (c *cursor) advance() { c.at, c.err = c.next() }
