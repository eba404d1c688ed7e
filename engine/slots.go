package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/zeebo/blake3"

	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

const (
	// spaceMargin is what must stay free beside what a restore is going to
	// write: manifests, journals, the safety pair of a small change.
	spaceMargin = 64 << 20
	// spaceMarginShare of the whole file system is enough on a small disk.
	spaceMarginShare = 20
)

// slotSignature is one number for the lstat of everything in a slot's trees:
// equal signatures in one boot mean that nothing was written in between.
func (w *Worktree) slotSignature(slot Slot, trees []storage.TreeState) (storage.ID, error) {
	h := blake3.New()
	for _, t := range trees {
		root, err := w.fs.OpenRoot(w.db.Place(slot, t.Name))
		if err != nil {
			return storage.ID{}, err
		}
		err = signDirectory(root, ".", h)
		_ = root.Close()
		if err != nil {
			return storage.ID{}, err
		}
	}
	var id storage.ID
	h.Sum(id[:0])
	return id, nil
}

// signDirectory feeds the lstat of everything below dir to h.
func signDirectory(root vfs.Root, dir string, h *blake3.Hasher) error {
	entries, err := root.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		buf := binary.BigEndian.AppendUint32(nil, uint32(len(name)))
		buf = append(buf, name...)
		for _, n := range [...]uint64{uint64(info.Mode), uint64(info.Size), uint64(info.Mtime), uint64(info.Ctime), info.Dev, info.Ino} {
			buf = binary.BigEndian.AppendUint64(buf, n)
		}
		if _, err := h.Write(buf); err != nil {
			return err
		}
		if info.IsDir() {
			if err := signDirectory(root, name, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// proven tells what a slot is proven to hold: its record when it is clean, of
// this boot, and nothing was written since; else nil.
func (w *Worktree) proven(slot Slot) (*slotRecord, error) {
	r, err := w.readSlot(slot)
	if err != nil || !r.Clean || r.Boot == "" || r.Boot != w.boot() {
		return nil, err
	}
	sig, err := w.slotSignature(slot, r.Trees)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || sig != r.Signature {
		return nil, err
	}
	return &r, nil
}

// fillSlot makes the idle slot hold exactly trees, flushed, with a clean
// record that says so, and remembers its files for the next capture from it.
// The caller holds the slot's lock, or is the only one who knows the branch.
func (w *Worktree) fillSlot(ctx context.Context, slot Slot, trees []storage.TreeState, verify float64) (written int64, err error) {
	if written, err = w.patchSlot(ctx, slot, trees, verify); err != nil {
		return written, err
	}
	if err := durable.SyncTree(w.fs, w.branch.SlotDir(slot)); err != nil {
		return written, err
	}
	sig, err := w.slotSignature(slot, trees)
	if err != nil {
		return written, err
	}
	for _, t := range trees {
		if err := w.rememberTree(ctx, slot, t); err != nil {
			return written, err
		}
	}
	return written, w.writeSlot(slot, slotRecord{Clean: true, Trees: trees, Boot: w.boot(), Signature: sig})
}

// rememberTree makes the memory of a tree that was just patched and flushed.
func (w *Worktree) rememberTree(ctx context.Context, slot Slot, t storage.TreeState) error {
	root, err := w.fs.OpenRoot(w.db.Place(slot, t.Name))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	memory, err := w.store.Remember(ctx, root, t.Manifest, storage.Pages, nil)
	if err == nil {
		w.saveMemory(memoryOfSlot(slot, t.Name), memory)
	}
	return err
}

// patchSlot makes the idle slot hold exactly trees: not flushed, its record
// dirty. It starts from what the slot is proven to hold.
func (w *Worktree) patchSlot(ctx context.Context, slot Slot, trees []storage.TreeState, verify float64) (written int64, err error) {
	have, err := w.proven(slot)
	if err != nil {
		return 0, err
	}
	if err := w.soil(slot); err != nil {
		return 0, err
	}
	if _, seen := w.lastObservation(slot); seen { // of what the slot held until now
		if err := w.removeRecord(observedFile); err != nil {
			return 0, err
		}
	}
	unlock, err := w.store.LockShared(ctx, serverLockWait)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, t := range trees {
		dir := w.db.Place(slot, t.Name)
		if dir == "" {
			return written, fmt.Errorf("patch slot: the %s database has no tree %q", w.db.Kind(), t.Name)
		}
		if err := durable.MkdirAll(w.fs, dir, 0o700); err != nil {
			return written, err
		}
		opt := storage.PatchOptions{Verify: verify}
		if have != nil {
			opt.Have, opt.Inexact = have.tree(t.Name)
		}
		progress.Report(ctx, progress.Event{Phase: "prepare database", TotalBytes: t.Bytes, TotalFiles: t.Files})
		stats, err := w.patchTree(ctx, slot, t, opt)
		written += stats.WrittenBytes
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// patchTree patches one tree of a slot. The other slot, whose server may run,
// mostly has much of what is wanted.
func (w *Worktree) patchTree(ctx context.Context, slot Slot, t storage.TreeState, opt storage.PatchOptions) (storage.PatchStats, error) {
	if near, err := w.fs.OpenRoot(w.db.Place(slot.Other(), t.Name)); err == nil {
		defer func() { _ = near.Close() }()
		opt.Near = near
	}
	return w.store.Patch(ctx, w.fs, w.db.Place(slot, t.Name), t.Manifest, opt)
}

// tree gives the manifest that a clean slot holds for a tree, and the files
// that it does not describe byte for byte.
func (r *slotRecord) tree(name string) (storage.ID, map[string]bool) {
	inexact := make(map[string]bool)
	for _, p := range r.Inexact {
		if file, ok := strings.CutPrefix(p, name+"/"); ok {
			inexact[file] = true
		}
	}
	for _, t := range r.Trees {
		if t.Name == name {
			return t.Manifest, inexact
		}
	}
	return storage.ID{}, nil
}

// sameTrees compares what two lists of trees hold.
func sameTrees(a, b []storage.TreeState) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Manifest != b[i].Manifest {
			return false
		}
	}
	return true
}

// checkSpace refuses an operation that the store's file system has no room
// for: a margin, and what data needs beyond what the slot occupies.
func (w *Worktree) checkSpace(op string, slot Slot, data storage.DatabaseState) error {
	need := w.missingBytes(slot, data)
	space, err := w.fs.Space(w.branch.Dir)
	if err != nil {
		return fault.Wrap("look at free space", w.branch.Dir, err)
	}
	need += spaceMarginOf(space)
	if space.FreeBytes >= need {
		return nil
	}
	return &fault.Error{Op: op, Path: w.branch.Dir, Kind: fault.NoSpace,
		Err:  fmt.Errorf("%d MB are needed, %d MB are free", need>>20, space.FreeBytes>>20),
		Hint: "Make room on the store's file system; nothing was changed."}
}

// missingBytes is what a slot needs for data beyond what it occupies.
func (w *Worktree) missingBytes(slot Slot, data storage.DatabaseState) (need int64) {
	for _, t := range data.Trees {
		need += max(0, t.Bytes-w.occupied(w.db.Place(slot, t.Name), "."))
	}
	return need
}

// spaceMarginOf is what must stay free on a file system in any case.
func spaceMarginOf(space vfs.Space) int64 {
	return min(spaceMargin, max(0, space.TotalBytes/spaceMarginShare))
}

// occupied adds up the sizes of the files in a directory; what cannot be
// read counts as nothing.
func (p *project) occupied(dir, below string) int64 {
	entries, err := p.fs.ReadDir(path.Join(dir, below))
	if err != nil {
		return 0
	}
	var total int64
	for _, e := range entries {
		name := path.Join(below, e.Name)
		if e.Type.IsDir() {
			total += p.occupied(dir, name)
		} else if info, err := p.fs.Lstat(path.Join(dir, name)); err == nil {
			total += info.Size
		}
	}
	return total
}
