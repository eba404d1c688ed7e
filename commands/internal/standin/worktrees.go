package standin

import (
	"context"

	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage"
)

// Worktrees is a list with every sort of row.
func (e *Engine) worktrees() []engine.WorktreeRow {
	return []engine.WorktreeRow{
		{WorktreeInfo: e.info(), State: engine.StateOK, Server: "running", Checkpoints: 2, Bytes: 34 << 20, Current: true},
		{
			WorktreeInfo: engine.WorktreeInfo{ID: "01jbw2", Name: "feature", Project: "01jbpr", Path: "/srv/fea\nture", Store: "/srv/store", Branch: "01jbw2", Kind: "postgres"},
			State:        engine.StateOrphan, Why: "its git directory is gone", Server: "stopped", Stopped: true, Interrupted: "restore", Checkpoints: 1200, Bytes: 1 << 30,
		},
		{WorktreeInfo: engine.WorktreeInfo{Name: "third", Path: "/srv/third"}, State: engine.StateNone, Why: "git's, without a database"},
		{WorktreeInfo: engine.WorktreeInfo{Name: "old", Path: "/srv/old"}, State: engine.StateTornDown, Why: "only its checkpoints are left", Checkpoints: 1},
	}
}

// WorktreeList answers with worktrees in every state.
func (e *Engine) WorktreeList(_ context.Context, _ string, opt engine.WorktreeListOptions) ([]engine.WorktreeRow, error) {
	rows := e.worktrees()
	if opt.Orphans {
		rows = rows[1:2]
	}
	return rows, e.call("worktree list", opt)
}

// AddWorktree answers with a worktree from a checkpoint, or from a seed.
func (e *Engine) AddWorktree(_ context.Context, dir string, opt engine.AddWorktreeOptions) (*engine.AddWorktreeResult, error) {
	info := e.info()
	info.Name, info.Path = "try", opt.Path
	return &engine.AddWorktreeResult{
		Worktree: info, GitBranch: "try", Head: "0123456789abcdef0123456789abcdef01234567", From: opt.From, Changed: 3, Removed: 1, Seed: opt.Seed,
		Config: opt.Path + "/.forklift.json", Warnings: []string{"the filter lfs of git's configuration was not run"},
	}, e.call("worktree add", dir, opt)
}

// Adopt answers that it is done.
func (e *Engine) Adopt(_ context.Context, dir, ref string) (*engine.AdoptResult, error) {
	info := e.info()
	info.Name = ref
	return &engine.AdoptResult{Worktree: info, From: "/srv/feature", Checkpoints: 3, Interrupted: "restore", Warnings: []string{"the operation log is read-only"}},
		e.call("adopt", dir, ref)
}

// PruneWorktrees answers with one orphan.
func (e *Engine) PruneWorktrees(_ context.Context, _ string, opt engine.PruneWorktreesOptions) (*engine.PruneWorktreesResult, error) {
	return &engine.PruneWorktreesResult{Done: opt.Yes, Plan: "0123456789ab", Worktrees: e.worktrees()[1:2], Bytes: 1 << 30, Checkpoints: 1200},
		e.call("worktree prune", opt)
}

// Examine answers that the worktree is well but for an orphan.
func (e *Engine) Examine(_ context.Context, dir string) *engine.Examination {
	return &engine.Examination{Git: "2.39.5", Repo: dir, SetUp: true, Store: "/srv/store", Made: true, Mode: 0o700, Worktree: e.info(),
		Server: engine.ServerInfo{State: "stopped"}, Orphans: []string{"feature"}, OpenErr: e.Fail["examine"]}
}

// Socket answers with a place that is short enough.
func (e *Engine) Socket() postgres.SocketPlace {
	return postgres.SocketPlace{Dir: "/run/forklift", Bytes: 40, Limit: 103}
}

// CheckStore answers for a store without a worktree.
func (e *Engine) CheckStore(ctx context.Context, _ string, opt storage.CheckOptions) (*engine.CheckResult, error) {
	return worktree{e}.Check(ctx, opt)
}

// StoreUsage answers for a store without a worktree.
func (e *Engine) StoreUsage(ctx context.Context, _ string) (*engine.DiskUsage, error) {
	return worktree{e}.DiskUsage(ctx, nil)
}
