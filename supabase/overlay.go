package supabase

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
	// projectDir is the overlay, in the branch's own directory: the one path
	// that the CLI knows the stack by.
	projectDir = "project"
	lockName   = "supabase/supabase.lock"

	// stackName is what the CLI calls a stack that nobody named; it is part of
	// its identity.
	stackName = "default"
	// pinnedBranch is the git branch of the overlay, also where the store is
	// inside of a repository, whose branches have nothing to do with the stack.
	pinnedBranch = "refs/heads/forklift"

	maxConfigBytes = 1 << 20
	maxLockBytes   = 4 << 20
)

// own are the names in the overlay's directory supabase that are not links
// into the worktree: the CLI's working files and what is derived.
var own = []string{"config.toml", "supabase.lock", ".temp", ".branches", ".gitignore"}

// overlay is a directory that the CLI takes for the project. It links to the
// files of the worktree, but what the CLI would write into the worktree, and
// what would tie the stack to fixed ports or a git branch, is its own.
type overlay struct {
	fs  vfs.FS
	dir string // absolute
}

// pin writes the mark that the CLI takes for the git branch of the overlay,
// whatever repository a directory above may be.
func (o overlay) pin() error {
	mark := path.Join(o.dir, ".git")
	if err := durable.MkdirAll(o.fs, mark, 0o700); err != nil {
		return fault.Wrap("make directory", mark, err)
	}
	return put(o.fs, path.Join(mark, "HEAD"), []byte("ref: "+pinnedBranch+"\n"), 0o600)
}

// identity is what the CLI knows the stack by.
type identity struct {
	ProjectRoot   string `json:"projectRoot"`
	BranchContext string `json:"branchContext"`
	StackName     string `json:"stackName"`
}

// id is the name of the stack's directory: the SHA-256 of the three texts, each
// behind its length in four bytes, as the CLI makes it. That it still does is
// looked at after each start.
func (i identity) id() string {
	h := sha256.New()
	for _, text := range []string{i.ProjectRoot, i.BranchContext, i.StackName} {
		_ = binary.Write(h, binary.BigEndian, uint32(len(text))) // a hash cannot fail
		h.Write([]byte(text))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// derive makes the overlay of a project, again: links that lead nowhere any
// more go, files of the CLI's own stay. lock is the supabase.lock that the data
// was made with; nil takes the project's, if it has one.
func (o overlay) derive(project string, ports map[string]int, lock []byte) error {
	name := path.Join(project, configName)
	text, err := durable.ReadFile(o.fs, name, maxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "read Supabase configuration", Path: name, Kind: fault.NotFound, Err: errors.New("the project has no config.toml"),
			Hint: "Restore the file (`git checkout`, `forklift restore`), or correct `directory` in .forklift.json."}
	}
	if err != nil {
		return fault.Wrap("read Supabase configuration", name, err)
	}
	config, err := derive(name, text, ports)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(o.fs, path.Join(o.dir, "supabase"), 0o700); err != nil {
		return err
	}
	if err := o.pin(); err != nil {
		return err
	}
	if err := o.link(".", project, []string{"supabase", ".git"}); err != nil {
		return err
	}
	if err := o.link("supabase", path.Join(project, "supabase"), own); err != nil {
		return err
	}
	if err := put(o.fs, path.Join(o.dir, configName), config, 0o600); err != nil {
		return err
	}
	if lock == nil {
		if lock, err = durable.ReadFile(o.fs, path.Join(project, lockName), maxLockBytes); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fault.Wrap("read lock of the services", path.Join(project, lockName), err)
		}
	}
	return put(o.fs, path.Join(o.dir, lockName), lock, 0o600)
}

// link makes a directory of the overlay link to each entry of one of the
// project, but for those in except, and removes links that are no more.
func (o overlay) link(dir, target string, except []string) error {
	entries, err := o.fs.ReadDir(target)
	if err != nil {
		return fault.Wrap("read Supabase project", target, err)
	}
	want := map[string]string{}
	for _, e := range entries {
		if !slices.Contains(except, e.Name) {
			want[e.Name] = path.Join(target, e.Name)
		}
	}
	have, err := o.fs.ReadDir(path.Join(o.dir, dir))
	if err != nil {
		return fault.Wrap("read overlay", o.dir, err)
	}
	for _, e := range have {
		name := path.Join(o.dir, dir, e.Name)
		if e.Type&fs.ModeSymlink == 0 {
			if _, ok := want[e.Name]; ok {
				return &fault.Error{Op: "link to the project", Path: name, Kind: fault.Failed,
					Err:  fmt.Errorf("a file of the CLI's has the place of %s", want[e.Name]),
					Hint: "Move it away; `supabase` was run with SUPABASE_WORKDIR before the project had that file."}
			}
			continue
		}
		if to, err := o.fs.Readlink(name); err == nil && want[e.Name] == to {
			delete(want, e.Name)
			continue
		}
		if err := durable.Remove(o.fs, name); err != nil {
			return fault.Wrap("remove link", name, err)
		}
	}
	for name, to := range want {
		if err := o.fs.Symlink(to, path.Join(o.dir, dir, name)); err != nil {
			return fault.Wrap("link to the project", to, err)
		}
	}
	return nil
}

// put writes a file durably unless it has that content.
func put(fsys vfs.FS, name string, data []byte, perm fs.FileMode) error {
	if have, err := durable.ReadFile(fsys, name, int64(len(data))+1); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return fault.Wrap("write", name, durable.WriteFile(fsys, name, data, perm))
}
