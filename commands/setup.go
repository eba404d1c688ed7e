package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// SetupRequest asks for a database of its own for the worktree.
type SetupRequest struct {
	Seed   string   `json:"seed,omitempty" flag:"seed" value:"NAME" complete:"seed" help:"start from this seed; without it the project's seed, or an empty database"`
	Source []string `json:"source,omitempty" flag:"source" value:"PATH" complete:"path" help:"a path to save with every checkpoint, for the generated .forklift.json; may be repeated; without it what git tracks is taken"`
	Yes    bool     `json:"yes,omitempty" flag:"yes" short:"y" help:"accept the generated .forklift.json without a question"`
	TCP    bool     `json:"tcp,omitempty" flag:"tcp" help:"let the server listen on 127.0.0.1 too, with a password, for clients that know no sockets"`
	NoTCP  bool     `json:"no_tcp,omitempty" flag:"no-tcp" help:"let it listen on its socket only, as at first"`
	Port   int      `json:"port,omitempty" flag:"port" value:"N" help:"with --tcp: the port; without it one that is free is chosen and kept"`
	New    bool     `json:"new,omitempty" flag:"new" help:"give a copied worktree an identity and a database of its own"`
}

// SetupResult says what the setup made.
type SetupResult struct {
	engine.SetupResult
	// Review is set when the generated file was written and nobody has
	// looked at it yet.
	Review bool `json:"review"`
}

var setupVerb = NewVerb(Verb{
	Name: "setup", Group: GroupStart, Worktree: true, Near: []string{"init", "create", "new"},
	Short: "Give this git worktree a database of its own",
	Long: `Gives the worktree an identity and a database of its own, from a seed or empty,
and writes a .forklift.json to review if there is none. It can be run again at
any time: what is there already stays as it is. A file such as .env that points
programs to another database is named.

With --tcp the server listens on 127.0.0.1 beside its socket, and the URL is one for TCP with
a password. Port and password stay the same over restores; the password is in a file that only
you can read, one for the whole store. Run it again with --port, or with --no-tcp, to change that
while the server is stopped.`,
	Examples: []Example{
		{"forklift setup", "an empty database, source paths from what git tracks"},
		{"forklift setup --seed demo --source src --source migrations", "from a seed, saving two directories"},
		{"forklift setup --tcp", "for clients that know no unix sockets; also later"},
		{"forklift setup --new", "in a copy of a worktree that was made with cp -r"},
	},
}, Setup)

// Setup makes the worktree's identity and database. It is idempotent; killed
// in the middle it can be run again.
func Setup(ctx context.Context, env Env, req SetupRequest) (SetupResult, error) {
	opt := engine.SetupOptions{Seed: req.Seed, Source: req.Source, Yes: req.Yes, New: req.New, TCP: req.TCP, NoTCP: req.NoTCP, Port: req.Port}
	asked := false
	if env.Confirm != nil && !req.Yes {
		opt.Review = func(ctx context.Context, path, text string) error {
			asked = true
			return review(ctx, env, path, text)
		}
	}
	r, err := env.Engine.Setup(ctx, env.Dir, opt)
	if err != nil {
		return SetupResult{}, err
	}
	r.Warnings = append(r.Warnings, leadElsewhere(ctx, env)...)
	return SetupResult{SetupResult: *r, Review: r.ConfigMade && !req.Yes && !asked}, nil
}

// review shows the generated file to the user; saying no ends the setup.
func review(ctx context.Context, env Env, path, text string) error {
	// The terminal is the question's now.
	progress.Report(ctx, progress.Event{})
	ok, err := env.Confirm(ctx, Question{
		Text:   "There is no " + path + " yet. This one says what every checkpoint saves:\n\n" + text,
		Prompt: "Write it?", Yes: true,
	})
	if err != nil || ok {
		return err
	}
	return &fault.Error{
		Op: "setup", Kind: fault.Canceled, Err: errors.New("the generated .forklift.json was not accepted"),
		Hint: "Choose the paths with --source, or write .forklift.json yourself and run setup again.",
	}
}
