package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"forklift/engine/config"
	"forklift/engine/gitdir"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

const (
	linkFile = "forklift.json" // in the git directory of a worktree

	worktreesDir = "worktrees"
	branchesDir  = "branches"
	secretFile   = "password" // of all databases of the store
)

// project is all worktrees of one git repository, and the store they use.
type project struct {
	host    Host
	fs      vfs.FS
	repo    gitdir.Repo
	store   *storage.Store
	machine config.Machine // zero Project before the first setup
}

// findProject finds the repository that holds dir and its machine
// configuration. The store is not opened yet.
func findProject(ctx context.Context, host Host, dir string) (*project, error) {
	repo, err := host.Git.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &project{host: host, fs: host.FS, repo: repo}
	if err := p.readMachine(); err != nil {
		return nil, err
	}
	return p, p.placeStore()
}

// placeStore settles where the store is: where forklift.toml says, or for
// the first setup of a project where the host says.
func (p *project) placeStore() error {
	if p.machine.Store == "" {
		p.machine.Store = p.host.StoreDir
	}
	if p.machine.Store == "" {
		return &fault.Error{Op: "open store", Kind: fault.Usage, Err: errors.New("no place for the store is known"),
			Hint: "Set FORKLIFT_STORE or HOME."}
	}
	return nil
}

// readMachine reads forklift.toml; without one p.machine stays empty.
func (p *project) readMachine() error {
	name := path.Join(p.repo.CommonDir, config.MachineName)
	data, err := durable.ReadFile(p.fs, name, config.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap("read", name, err)
	}
	m, err := config.ParseMachine(name, data)
	if err != nil {
		return err
	}
	p.machine = *m
	return nil
}

// recordDir is the directory of a worktree's records.
func (p *project) recordDir(id string) string { return path.Join(p.store.Dir(), worktreesDir, id) }

// branchAt describes the branch with an id, whose live lock is in dir.
func (p *project) branchAt(id, dir string) Branch {
	return Branch{ID: id, Dir: path.Join(p.store.Dir(), branchesDir, id), Live: path.Join(dir, liveLock),
		Installation: p.machine.Postgres, SecretFile: path.Join(p.store.Dir(), secretFile)}
}

// database opens the database of a branch.
func (p *project) database(ctx context.Context, kind string, b Branch, cfg *config.File) (Database, error) {
	open, ok := p.host.Kinds[kind]
	if !ok {
		return nil, &fault.Error{Op: "open database", Path: kind, Kind: fault.Unsupported,
			Err: fmt.Errorf("this forklift has no database kind %q", kind), Hint: "Install a version that has it."}
	}
	if cfg == nil {
		return open(ctx, b, nil)
	}
	b.Options = cfg.Options(kind)
	return open(ctx, b, cfg.Database.Settings)
}

// records lists the worktree records of the store; project "" is all.
func (p *project) records(projectID string) ([]worktreeRecord, error) {
	dir := path.Join(p.store.Dir(), worktreesDir)
	entries, err := p.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("list worktrees", dir, err)
	}
	var list []worktreeRecord
	for _, e := range entries {
		rec, err := p.readRecord(e.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a setup that was killed, or is under way
		}
		if err != nil {
			return nil, err
		}
		if projectID == "" || rec.Project == projectID {
			list = append(list, rec)
		}
	}
	return list, nil
}

func (p *project) readRecord(id string) (worktreeRecord, error) {
	var rec worktreeRecord
	err := record.Read(p.fs, path.Join(p.recordDir(id), worktreeFile), "worktree", recordFormat, &rec)
	return rec, err
}

func (p *project) writeRecord(rec worktreeRecord) error {
	return record.Write(p.fs, path.Join(p.recordDir(rec.ID), worktreeFile), "worktree", recordFormat, rec)
}

// readLink reads the pointer in a git directory; it gives nil without one.
func (p *project) readLink(gitDir string) (*link, error) {
	var l link
	name := path.Join(gitDir, linkFile)
	err := record.Read(p.fs, name, "link", recordFormat, &l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &l, fault.Wrap("read", name, err)
}
