package storage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync/atomic"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/internal/fskind"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// The names in a store's directory that belong to this package. Others
// (worktrees, branches, images) are the engine's.
const (
	formatFile = "format"
	lockFile   = "store.lock"
	packsDir   = "packs"
	indexDir   = "index"
	pairsDir   = "pairs"
	namesDir   = "names"
	tmpDir     = "tmp"
	metaDir    = "meta"
	asideDir   = "damaged"
	pruneLock  = "prune.lock"
)

// storeFormat is the version of the layout. A store of a newer one is refused.
const storeFormat = 1

// dirPerm is the mode of all directories of a store: what is in it is as
// private as the worktrees and databases it comes from.
const dirPerm = 0o700

// formatBody is the record in the format file.
type formatBody struct {
	ID string `json:"id"` // 32 random hexadecimal digits
	// Generation counts what made data vanish (prune, repair): whoever
	// remembers that something is stored must forget it when this moves.
	Generation int64 `json:"generation"`
}

// Store keeps blobs, manifests, pairs and names in one directory. It is safe
// for concurrent use, and several processes may have the same store open.
type Store struct {
	fs    vfs.FS
	dir   string
	id    string
	locks locks
	blobs blobs

	generation atomic.Int64
	marker     stat // of the format file that generation comes from; guarded by locks.mu
}

// Create opens the store in dir, and makes it if there is none. dir is
// absolute; directories above it are made when they are missing.
//
// It refuses a directory that holds anything else, that belongs to another user, or
// that is on a network or FUSE file system. When it returns nil the store is
// durable. After an error or a crash dir may hold an unfinished store, which the
// next Create finishes.
func Create(ctx context.Context, fsys vfs.FS, dir string) (*Store, error) {
	const op = "create store"
	dir = path.Clean(dir)
	if _, err := fsys.Lstat(path.Join(dir, formatFile)); err == nil {
		return Open(ctx, fsys, dir)
	}
	if err := durable.MkdirAll(fsys, dir, dirPerm); err != nil {
		return nil, failed(op, dir, err)
	}
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, failed(op, dir, err)
	}
	ours := []string{formatFile, lockFile, packsDir, indexDir, pairsDir, namesDir, tmpDir, metaDir, asideDir, pruneLock, "worktrees", "branches", "images"}
	for _, e := range list {
		if !slices.Contains(ours, e.Name) && !durable.IsTemp(e.Name) {
			return nil, &fault.Error{Op: op, Path: dir, Kind: fault.Usage,
				Err:  errors.New("the directory holds other things (" + e.Name + ")"),
				Hint: "Name a directory that is empty or does not exist."}
		}
	}
	if err := suitable(fsys, dir, op); err != nil {
		return nil, err
	}
	for _, name := range []string{packsDir, indexDir, pairsDir, namesDir, tmpDir} {
		if err := fsys.Mkdir(path.Join(dir, name), dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, failed(op, dir, err)
		}
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	body := formatBody{ID: hex.EncodeToString(id[:]), Generation: 1}
	// The marker comes last, and its creation syncs the directory: with it
	// the names of the directories above are durable too.
	err = record.Create(fsys, path.Join(dir, formatFile), "store", storeFormat, body)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failed(op, dir, err)
	}
	return Open(ctx, fsys, dir)
}

// Open opens the store in dir. It fails with kind NotFound where there is
// none, and Unsupported for one that a newer Forklift wrote.
func Open(ctx context.Context, fsys vfs.FS, dir string) (*Store, error) {
	const op = "open store"
	if err := ctx.Err(); err != nil {
		return nil, failed(op, dir, err)
	}
	s := &Store{fs: fsys, dir: path.Clean(dir)}
	if err := s.readFormat(); errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: op, Path: dir, Kind: fault.NotFound, Err: errors.New("there is no store")}
	} else if err != nil {
		return nil, failed(op, dir, err)
	}
	if err := suitable(fsys, s.dir, op); err != nil {
		return nil, err
	}
	s.locks = locks{fs: fsys, name: path.Join(s.dir, lockFile), taken: s.refresh}
	s.blobs.init(fsys, s.dir)
	return s, nil
}

// suitable refuses a directory that must not hold a store.
func suitable(fsys vfs.FS, dir, op string) error {
	info, err := fsys.Lstat(dir + "/.")
	if err != nil {
		return failed(op, dir, err)
	}
	kind := fskind.OfDir(fsys, dir+"/.")
	if kind != fskind.Simulated && int(info.UID) != os.Geteuid() {
		return &fault.Error{Op: op, Path: dir, Kind: fault.Usage, Err: errors.New("the directory belongs to another user"),
			Hint: "A store is for one user. Run as its owner, or use a store of your own."}
	}
	if kind == fskind.Network || kind == fskind.User {
		return &fault.Error{Op: op, Path: dir, Kind: fault.Unsupported, Err: errors.New("it is on " + kind.String()),
			Hint: "Locks and flushes may not hold there. Put the store on a local disk."}
	}
	return nil
}

// Dir is the store's directory.
func (s *Store) Dir() string { return s.dir }

// ID is the random id that the store was made with.
func (s *Store) ID() string { return s.id }

// Close releases the files that the store has open. Writers must be done.
func (s *Store) Close() error {
	s.blobs.close()
	return nil
}

// path gives the name of something in the store.
func (s *Store) path(elem ...string) string {
	return path.Join(append([]string{s.dir}, elem...)...)
}
