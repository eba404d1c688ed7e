package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"forklift/engine"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// RootMethod is how servers run when Forklift runs as root, because
// PostgreSQL refuses to.
type RootMethod string

// The methods.
const (
	// Own: not as root; servers run as we do.
	Own RootMethod = "own"
	// Namespace maps our user to another number inside a user namespace
	// that only the server is in: no file changes its owner.
	Namespace RootMethod = "namespace"
	// Account runs servers as an unprivileged account, to which the data
	// directory is given.
	Account RootMethod = "account"
)

// identity is who a branch's servers are.
type identity struct {
	Method RootMethod `json:"method"`
	UID    int        `json:"uid"` // who owns the server's files, as we see it
	GID    int        `json:"gid"`
}

// The record's place and format. It is only written as root.
const (
	rootName   = "root.json"
	rootKind   = "postgres-root"
	rootFormat = 1
)

// identity tells who runs the branch's servers. As root the method is found
// by trying, once, and recorded: a data directory given to an account must
// not be opened by another method later.
func (c *cluster) identity(ctx context.Context) (identity, error) {
	own := identity{Method: Own, UID: os.Geteuid(), GID: os.Getegid()}
	if own.UID != 0 {
		return own, nil
	}
	var id identity
	err := record.Read(c.opt.FS, c.runFile(rootName), rootKind, rootFormat, &id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && fault.KindOf(err) != fault.Corrupt {
		return identity{}, err
	}
	id = identity{Method: Namespace, UID: own.UID, GID: own.GID}
	if c.opt.Root == Account || (c.opt.Root == "" && c.tryNamespace(ctx) != nil) {
		if id, err = c.account(); err != nil {
			return identity{}, err
		}
	}
	if err := c.ensureRunDir(); err != nil {
		return identity{}, err
	}
	return id, record.Write(c.opt.FS, c.runFile(rootName), rootKind, rootFormat, id)
}

// tryNamespace starts a program in a user namespace, which containers and
// hardened kernels forbid.
func (c *cluster) tryNamespace(ctx context.Context) error {
	id := identity{Method: Namespace, UID: 0, GID: 0}
	_, err := c.opt.output(ctx, probeTimeout, id.attr(), nil, "/bin/sh") // it reads /dev/null
	return err
}

// account finds the unprivileged account.
func (c *cluster) account() (identity, error) {
	names := []string{"postgres", "nobody"}
	if c.opt.Account != "" {
		names = []string{c.opt.Account}
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID == nil && errGID == nil && uid != 0 {
			return identity{Method: Account, UID: uid, GID: gid}, nil
		}
	}
	return identity{}, &fault.Error{Op: "choose account", Kind: fault.Unsupported, Err: fmt.Errorf("PostgreSQL does not run as root, and there is no account %q", names),
		Hint: "Make an account for it, or run Forklift as an ordinary user."}
}

// own gives a slot and our own files to the server's account, and sees to it
// that it can reach them. Nothing to do for the other methods.
func (c *cluster) own(id identity, slot engine.Slot, inst *Installation) error {
	if id.Method != Account {
		return nil
	}
	if err := c.letPass(id, inst.Bin); err != nil {
		return err
	}
	for _, dir := range []string{c.branch.RunDir(), c.slotDir(slot)} {
		if err := giveTree(c.opt.FS, dir, id); err != nil {
			return &fault.Error{Op: "give to account", Path: dir, Err: err}
		}
	}
	return nil
}

// letPass proves that the account can pass through the directories above its
// files and programs. Those of the store are ours to open: others may pass
// through then, but not list them. A user's home is not.
func (c *cluster) letPass(id identity, bin string) error {
	ours := []string{c.branch.Dir}
	if branches := filepath.Dir(c.branch.Dir); filepath.Base(branches) == "branches" {
		ours = append(ours, branches, filepath.Dir(branches))
	}
	for _, top := range []string{c.branch.Dir, bin} {
		for dir := top; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				return &fault.Error{Op: "give to account", Path: dir, Err: err}
			}
			perm := info.Mode().Perm()
			switch {
			case perm&0o001 != 0:
			case slices.Contains(ours, dir):
				if err := c.opt.FS.Chmod(dir, info.Mode()&^fs.ModeType|0o011); err != nil {
					return &fault.Error{Op: "give to account", Path: dir, Err: err}
				}
			default:
				return &fault.Error{Op: "run postgres", Path: dir, Kind: fault.Unsupported,
					Err:  fmt.Errorf("the account with uid %d that servers run as cannot pass through it (mode %04o)", id.UID, perm),
					Hint: "Set XDG_DATA_HOME and XDG_CACHE_HOME to directories that every user may pass through, such as below /var/lib; or allow user namespaces."}
			}
		}
	}
	return nil
}

// giveRunDir gives our own files to the server's account.
func (c *cluster) giveRunDir(ctx context.Context) error {
	id, err := c.identity(ctx)
	if err != nil || id.Method != Account {
		return err
	}
	if err := giveTree(c.opt.FS, c.branch.RunDir(), id); err != nil {
		return &fault.Error{Op: "give to account", Path: c.branch.RunDir(), Err: err}
	}
	return nil
}

// giveTree changes the owner of what is in dir and does not have it yet.
func giveTree(fsys vfs.FS, dir string, id identity) error {
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	defer failpoint.Bulk()()
	return giveIn(root, ".", id)
}

func giveIn(root vfs.Root, name string, id identity) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if int(info.UID) != id.UID || int(info.GID) != id.GID {
		if err := root.Chown(name, id.UID, id.GID); err != nil {
			return err
		}
	}
	if !info.IsDir() {
		return nil
	}
	entries, err := root.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := giveIn(root, filepath.Join(name, e.Name), id); err != nil {
			return err
		}
	}
	return nil
}
