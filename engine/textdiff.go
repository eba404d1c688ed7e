package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/vfs"
)

const (
	// contextLines is how many equal lines stand around a change.
	contextLines = 3
	// sniffBytes is how far into a file a NUL byte makes it binary, as in git.
	sniffBytes = 8000
)

// contentOf reads the content of an entry of one side, at most
// maxDiffFileBytes and one more.
type contentOf func(e *storage.Entry) ([]byte, error)

// pairContent reads the files of checkpoints.
func (w *Worktree) pairContent(ctx context.Context) contentOf {
	return func(e *storage.Entry) ([]byte, error) {
		r, err := w.store.Reader(ctx, *e)
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }()
		return io.ReadAll(io.LimitReader(r, maxDiffFileBytes+1))
	}
}

// workingContent reads the files of a worktree.
func workingContent(root vfs.Root) contentOf {
	return func(e *storage.Entry) ([]byte, error) {
		f, err := root.OpenFile(e.Path, os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return io.ReadAll(io.LimitReader(f, maxDiffFileBytes+1))
	}
}

// textDiffer compares files line by line.
type textDiffer struct {
	old, now contentOf
	room     int // bytes of patches that may still be kept
}

// compare counts the lines that came and went, and keeps the patch if asked.
func (t *textDiffer) compare(f *FileDiff, x worktree.Difference, patch bool) error {
	old, why, err := sideText(x.Old, t.old)
	if err != nil {
		return err
	}
	now, whyNow, err := sideText(x.New, t.now)
	if err != nil {
		return err
	}
	if why == "" {
		why = whyNow
	}
	if why != "" {
		f.Binary, f.Why = true, why
		return nil
	}
	u, err := udiff.ToUnifiedDiff("a", "b", old, udiff.Lines(old, now), contextLines)
	if err != nil {
		return fmt.Errorf("compare %s: %w", f.Path, err)
	}
	for _, h := range u.Hunks {
		for _, line := range h.Lines {
			switch line.Kind {
			case udiff.Insert:
				f.Inserted++
			case udiff.Delete:
				f.Deleted++
			}
		}
	}
	if !patch || len(u.Hunks) == 0 {
		return nil
	}
	_, hunks, _ := strings.Cut(u.String(), "\n") // --- a
	_, hunks, _ = strings.Cut(hunks, "\n")       // +++ b
	if f.Truncated = len(hunks) > t.room; !f.Truncated {
		t.room -= len(hunks)
		f.Patch = hunks
	}
	return nil
}

// sideText is the text of one side, or why it is not compared by lines. What
// a symbolic link says is its text, as in git.
func sideText(e *storage.Entry, read contentOf) (text, why string, err error) {
	switch {
	case e == nil:
		return "", "", nil
	case e.Type == storage.Symlink:
		return e.Target, "", nil
	case e.Type != storage.Regular:
		return "", "directory", nil
	case e.Size > maxDiffFileBytes:
		return "", "too large", nil
	}
	data, err := read(e)
	if err != nil {
		return "", "", err
	}
	if bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 {
		return "", "binary", nil
	}
	if len(data) > maxDiffFileBytes {
		return "", "too large", nil // it grew meanwhile
	}
	return string(data), "", nil
}
