package engine

import (
	"context"
	"path"
	"path/filepath"

	"forklift/engine/config"
	"forklift/engine/trust"
	"forklift/engine/worktree"
)

// Places are what somebody who keeps watch over a worktree must look at.
type Places struct {
	Root    string   // the worktree's top, absolute
	GitDir  string   // of this worktree: holds the link that setup makes and teardown removes
	Records string   // the directory of the worktree's records
	Holders string   // the directory of the managed commands' files
	Trust   string   // the directory of the user's approvals, which may not be there yet
	Dirs    []string // relative to Root: every directory where a selected path can come, go or change
	Rules   []string // absolute, or relative to Root: what can change Dirs when it comes, goes or changes
	// Settings are the files, absolute, that can change what git ignores and which
	// Rules there are. Both list a symbolic link and what it leads to.
	Settings []string
}

// Places tells what to watch. With a .forklift.json that cannot be read, and
// without walk, only the top is among Dirs: of the others the scans of a Tracker
// tell. Nothing is changed.
func (w *Worktree) Places(ctx context.Context, walk bool) (*Places, error) {
	p := &Places{Root: w.rec.Path, GitDir: w.repo.GitDir, Records: w.dir, Holders: path.Join(w.dir, holdersDir), Trust: trust.Directory(w.host.StateDir),
		Dirs: []string{"."}, Rules: []string{config.Name, ".gitignore", path.Join(w.repo.CommonDir, "info/exclude")}}
	// Whatever fails here is found again by the look at the files, which tells it.
	if own, err := w.host.Git.ExcludesFile(ctx, w.repo); err == nil && own != "" {
		p.Rules = append(p.Rules, outside(own)...)
	}
	if files, err := w.host.Git.SettingsFiles(ctx, w.repo); err == nil {
		p.Settings = outside(files...)
	}
	if !walk {
		return p, nil
	}
	cfg, err := w.Config(ctx)
	if err != nil {
		return p, nil // Status names it
	}
	ignored, err := w.ignored(ctx, cfg.Selection())
	if err != nil {
		return nil, err
	}
	rules, err := w.sourceRules(cfg.Selection(), ignored, nil)
	if err != nil {
		return p, nil // Status names it
	}
	var repositories []string
	p.Dirs, repositories, err = worktree.Directories(ctx, w.fs, w.rec.Path, rules)
	for _, dir := range repositories {
		p.Rules = append(p.Rules, path.Join(dir, ".git"))
	}
	return p, err
}

// outside are files out of the worktree as one has to watch them: by the real name of
// their directory, since the system knows a directory by one name only, and where
// they are symbolic links what they lead to as well, which is in another directory.
func outside(files ...string) []string {
	var list []string
	for _, name := range files {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
			name = filepath.Join(dir, filepath.Base(name))
		}
		list = append(list, name)
		if to, err := filepath.EvalSymlinks(name); err == nil && to != name {
			list = append(list, to)
		}
	}
	return list
}

// QuickStatus is Status without what takes a scan: the changed files are left
// out, and FilesKnown is false.
func (w *Worktree) QuickStatus(ctx context.Context) (*StatusResult, error) {
	return w.statusWith(ctx, nil)
}
