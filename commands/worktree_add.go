package commands

import (
	"context"
	"path/filepath"

	"forklift/engine"
)

// WorktreeAddRequest asks for a new git worktree with a database of its own.
type WorktreeAddRequest struct {
	Path   string `json:"path" arg:"PATH" complete:"path" help:"where the worktree is to be; nothing may be there"`
	From   string `json:"from,omitempty" flag:"from" value:"CHECKPOINT" complete:"checkpoint" help:"begin with both halves of this checkpoint, at the commit that it was made at"`
	Branch string `json:"branch,omitempty" flag:"git-branch" short:"b" value:"GITBRANCH" help:"make this git branch; without it, as git does, one that is called like the directory"`
	Seed   string `json:"seed,omitempty" flag:"seed" value:"NAME" complete:"seed" help:"begin with this seed; without it the project's seed, or an empty database"`
}

// WorktreeAddResult describes the new worktree.
type WorktreeAddResult struct {
	engine.AddWorktreeResult
}

var worktreeAddVerb = NewVerb(Verb{
	Name: "worktree add", Group: GroupStart, Near: []string{"new", "create", "clone", "fork"},
	Short: "Make a git worktree with a database of its own",
	Long: `Does what "git worktree add" and "forklift setup" do, in one step: either the
worktree, its git branch and its database are there afterwards, or none of
them. With --from it begins with a checkpoint: git checks out the commit that
the checkpoint was made at, the source files of the checkpoint are put over it,
uncommitted ones too, and the database is the checkpoint's. Hooks and filters of
git are not run. A .forklift.json that is not committed is copied. A file such
as .env that git brings along and that points programs to another database is named.`,
	Examples: []Example{
		{"forklift worktree add ../feature", "a new git branch feature, and an empty database or the project's seed"},
		{"forklift worktree add ../try --from before-migration", "begin where a checkpoint was"},
		{"forklift worktree add ../fix --from main:green -b fix-rounding", "from a checkpoint of the worktree main, on a new git branch"},
	},
}, WorktreeAdd)

// WorktreeAdd makes the worktree. It is durable when it returns nil; after an
// error nothing of it is left.
func WorktreeAdd(ctx context.Context, env Env, req WorktreeAddRequest) (WorktreeAddResult, error) {
	path := req.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	r, err := env.Engine.AddWorktree(ctx, env.Dir, engine.AddWorktreeOptions{Path: filepath.Clean(path), From: req.From, Branch: req.Branch, Seed: req.Seed})
	if err != nil {
		return WorktreeAddResult{}, err
	}
	env.Dir = r.Worktree.Path
	r.Warnings = append(r.Warnings, leadElsewhere(ctx, env)...)
	return WorktreeAddResult{*r}, nil
}
