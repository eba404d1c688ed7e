package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"forklift/engine/config"
	"forklift/engine/internal/process"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

const (
	// unsavedDir holds one record per editor session that has unsaved buffers.
	unsavedDir = "unsaved"
	// maxUnsaved bounds the buffers that one session records.
	maxUnsaved = 4096
)

// UnsavedBuffer is a file that an editor has changes of that are not on disk.
type UnsavedBuffer struct {
	Path   string    `json:"path"` // relative to the worktree, quoted where it is not UTF-8
	Editor string    `json:"editor"`
	Since  time.Time `json:"since"`
}

// UnsavedSession identifies an editor's session.
type UnsavedSession struct {
	ID     string // fit for a file name
	Editor string // for people
	PID    int    // of the process that lives as long as the session, beside ours
}

// unsavedRecord is what a session has unsaved. It counts for as long as both
// processes live.
type unsavedRecord struct {
	Editor string       `json:"editor"`
	Owner  process.Info `json:"owner"` // that wrote it
	Front  process.Info `json:"front"`
	Since  time.Time    `json:"since"`
	Paths  []string     `json:"paths"`
}

func (w *Worktree) unsavedFile(id string) string { return path.Join(w.dir, unsavedDir, id+".json") }

// SetUnsaved records which files a session has unsaved buffers of: absolute
// paths; those outside the worktree are left out. No path takes the record
// away. The record is durable when it returns nil, and ends by itself when
// this process or the session's does.
func (w *Worktree) SetUnsaved(_ context.Context, s UnsavedSession, paths []string) error {
	rec := unsavedRecord{Editor: s.Editor, Since: w.host.Clock.Now()}
	for _, p := range paths {
		rel, err := filepath.Rel(w.rec.Path, p)
		if err == nil && filepath.IsLocal(rel) && len(rec.Paths) < maxUnsaved {
			rec.Paths = append(rec.Paths, worktree.QuotePath(filepath.ToSlash(rel)))
		}
	}
	name := w.unsavedFile(s.ID)
	if len(rec.Paths) == 0 {
		err := durable.Remove(w.fs, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fault.Wrap("forget unsaved buffers", name, err)
	}
	var err error
	if rec.Owner, err = process.Lookup(os.Getpid()); err == nil {
		rec.Front, err = process.Lookup(s.PID)
	}
	if err != nil {
		return fault.Wrap("record unsaved buffers", name, err)
	}
	if err := durable.MkdirAll(w.fs, path.Dir(name), 0o700); err != nil {
		return fault.Wrap("record unsaved buffers", name, err)
	}
	return fault.Wrap("record unsaved buffers", name, w.writeUnsaved(s.ID, rec))
}

func (w *Worktree) writeUnsaved(id string, rec unsavedRecord) error {
	return record.Write(w.fs, w.unsavedFile(id), "unsaved", recordFormat, rec)
}

func (w *Worktree) readUnsaved(id string, rec *unsavedRecord) error {
	return record.Read(w.fs, w.unsavedFile(id), "unsaved", recordFormat, rec)
}

// unsaved lists the unsaved buffers of editors that live, and removes the
// records of others.
func (w *Worktree) unsaved() ([]UnsavedBuffer, error) {
	dir := path.Join(w.dir, unsavedDir)
	entries, err := w.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("list unsaved buffers", dir, err)
	}
	var list []UnsavedBuffer
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name, ".json")
		if !ok {
			continue
		}
		var rec unsavedRecord
		name := path.Join(dir, e.Name)
		err := w.readUnsaved(id, &rec)
		if errors.Is(err, fs.ErrNotExist) {
			continue // saved meanwhile
		}
		if err != nil {
			return nil, fault.Wrap("list unsaved buffers", name, err)
		}
		if !process.Alive(rec.Owner.PID, rec.Owner.Start) || !process.Alive(rec.Front.PID, rec.Front.Start) {
			_ = durable.Remove(w.fs, name) // the next one tries again
			continue
		}
		for _, p := range rec.Paths {
			list = append(list, UnsavedBuffer{Path: p, Editor: rec.Editor, Since: rec.Since})
		}
	}
	return list, nil
}

// refuseUnsaved fails when an editor has an unsaved buffer of a file that
// counts, unless the user says that what is on disk is meant.
func (w *Worktree) refuseUnsaved(verb string, opt WaitOptions, counts func(p string) (bool, error)) error {
	if opt.UnsavedDisk {
		return nil
	}
	list, err := w.unsaved()
	if err != nil {
		return err
	}
	e := &fault.Error{Op: verb, Path: w.rec.Path, Kind: fault.Unsaved, Err: errors.New("an editor has unsaved changes"),
		Hint: "Save the files, or give --include-unsaved disk to go on with what is on disk."}
	for _, u := range list {
		p, err := worktree.UnquotePath(u.Path)
		if err != nil {
			return err
		}
		ok, err := counts(p)
		if err != nil {
			return err
		}
		if ok {
			e.Items = append(e.Items, fmt.Sprintf("%s (%s)", u.Path, u.Editor))
		}
	}
	if len(e.Items) > 0 {
		return e
	}
	return nil
}

// refuseUnsavedCapture is refuseUnsaved for the selected files.
func (w *Worktree) refuseUnsavedCapture(ctx context.Context, sel config.Selection, opt WaitOptions) error {
	var rules *storage.Rules // made when there is a buffer to ask for
	return w.refuseUnsaved(verbCapture, opt, func(p string) (bool, error) {
		if rules == nil {
			ignored, err := w.ignored(ctx, sel)
			if err != nil {
				return false, err
			}
			made, err := w.sourceRules(sel, ignored, nil)
			if err != nil {
				return false, err
			}
			rules = &made
		}
		return worktree.Selects(*rules, p), nil
	})
}

// refuseUnsavedRestore is refuseUnsaved for the files that a restore would
// write or remove.
func (w *Worktree) refuseUnsavedRestore(ctx context.Context, verb string, target storage.SourceState, opt WaitOptions) error {
	var ignored []string
	asked := false
	return w.refuseUnsaved(verb, opt, func(p string) (bool, error) {
		if !asked && target.Gitignored != config.Include {
			var err error
			if ignored, err = w.host.Git.Ignored(ctx, w.repo, target.Paths); err != nil {
				return false, err
			}
		}
		asked = true
		one := worktree.SingleOptions{FS: w.fs, Dir: w.rec.Path, Store: w.store, Target: target, Ignored: ignored}
		e, ok, err := w.store.Lookup(ctx, target.Manifest, p)
		if err != nil {
			return false, err
		}
		if ok {
			one.Entry = &e
		}
		return worktree.WouldChange(ctx, one, p)
	})
}
