// Package supaworld is a world with Supabase's own command line in it, in
// which no service of Supabase is needed and nothing is asked of the network
// after the CLI is installed.
//
// What is real: the Supabase CLI, of a pinned version, from npm, unmodified;
// its gateway, its supervisor, its migrations; PostgreSQL 17. What is not: Auth,
// Storage and REST are stand-ins (package standin) that keep their state where
// the real services do, and the other services are only healthy. So the tests
// prove that Forklift and the CLI work together, not that Supabase's services
// do; `make test-supabase-live` runs a story against the real archives.
//
// The CLI downloads its services as archives, whose digests stand in the
// project's supabase.lock, and looks for them where
// SUPABASE_INTERNAL_SLIM_RELEASES_URL says. A Hub serves archives of its own on
// 127.0.0.1 and has the lock that names their digests. They hold starters only:
// of the PostgreSQL in FORKLIFT_PG_BIN and of the stand-in's program.
//
// In a test:
//
//	hub, err := supaworld.Open(bin, pg)      // once, in TestMain (harness.Main gives bin and pg)
//	files, err := supaworld.Fixture()        // or files of your own
//	w := hub.NewWorld(t, hub.Project(files)) // a harness.World; Project adds the lock
//	w.Exec(t, deadline, nil, "forklift", "setup", "--yes")
//
// For root the CLI runs PostgreSQL as another account, which must have a group
// of its own: supabase-postgres or postgres; where there is neither, Open makes
// the first.
//
// In w.Env are the CLI on PATH, SUPABASE_INTERNAL_SLIM_RELEASES_URL and
// SUPABASE_INTERNAL_SLIM_REGISTRY_URL, for root also
// SUPABASE_NATIVE_POSTGRES_USER, and what keeps the CLI from asking for its
// newest version. A Client asks the stack through the gateway: log-ins, files,
// rows.
//
// By hand, in a clone, this writes the fixture's project into a directory, prints
// the variables, and serves until it is ended:
//
//	go run ./testsuite/internal/supaworld/hand DIRECTORY
package supaworld
