package commands

import (
	"context"

	"forklift/engine"
)

// CatRequest asks for a file or directory of a checkpoint.
type CatRequest struct {
	Ref string `json:"ref" arg:"NAME:PATH" complete:"checkpoint-path" help:"a path of a checkpoint, or WORKTREE:NAME:PATH for one of another worktree; it starts at the top of the worktree, or here when it begins with ./ or ../"`
}

// CatResult is that file or directory.
type CatResult struct {
	engine.CatResult
}

var catVerb = NewVerb(Verb{
	Name: "cat", Group: GroupCheckpoints, Worktree: true, ReadOnly: true, Near: []string{"ls", "view", "get", "dump"},
	Short: "Print a file of a checkpoint, or list a directory of it",
	Long: `Writes the bytes of a file as they were captured to stdout, each verified by its
hash, and nothing else. Of a symbolic link it writes what the link says; of a
directory it lists the names. With --json it tells type, mode, size and time, and
has the content in base64.`,
	Examples: []Example{
		{"forklift cat before-migration:src/app.py", "print a file as it was"},
		{"forklift cat before-migration:src", "list a directory; \"before-migration:\" lists the top"},
		{"forklift cat other:start:src/app.py > app.old", "a file of a checkpoint of the worktree named other"},
	},
}, Cat)

// Cat reads a file or directory of a checkpoint. A file's bytes go to env.Raw;
// where there is none they are in the result, up to engine.MaxCatBytes.
func Cat(ctx context.Context, env Env, req CatRequest) (CatResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result CatResult, err error) {
		here, err := placeIn(env, w)
		if err != nil {
			here = "." // a server's own directory: paths start at the top
		}
		r, err := w.Cat(ctx, engine.CatOptions{Ref: req.Ref, Here: here, Raw: env.Raw})
		if err == nil {
			result.CatResult = *r
		}
		return result, err
	})
}
