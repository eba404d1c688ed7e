package engine

import (
	"context"
	"path"

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
}

// Places tells what to watch. With a .forklift.json that cannot be read, and
// without walk, only the top is among Dirs: of the others the scans of a Tracker
// tell. Nothing is changed.
func (w *Worktree) Places(ctx context.Context, walk bool) (*Places, error) {
	p := &Places{Root: w.rec.Path, GitDir: w.repo.GitDir, Records: w.dir, Holders: path.Join(w.dir, holdersDir), Trust: trust.Directory(w.host.StateDir),
		Dirs: []string{"."}, Rules: []string{config.Name, ".gitignore", path.Join(w.repo.CommonDir, "info/exclude")}}
	if own, err := w.host.Git.ExcludesFile(ctx, w.repo); err == nil && own != "" {
		p.Rules = append(p.Rules, own)
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

// QuickStatus is Status without what takes a scan: the changed files are left
// out, and FilesKnown is false.
func (w *Worktree) QuickStatus(ctx context.Context) (*StatusResult, error) {
	return w.statusWith(ctx, nil)
}
