// Package supabase gives a worktree a local Supabase stack of its own: the
// database with all its roles, the users of Auth and the uploaded files of
// Storage come to rest, are saved and are put back together with the code.
// [Opener] gives the engine its database kind "supabase", [Detect] finds a
// project, [Describe] says what .forklift.json can say.
//
// Nothing here supervises a service. The package drives the user's own
// Supabase CLI and its native runtime, in which a stack is plain files and
// ordinary processes. How the CLI is called, what it prints with
// --output-format json and where it keeps what is all that is relied on; where
// that differs, the start is refused with the version that was tested.
//
// # Files
//
//	<branch>/a, <branch>/b        the slots, each a SUPABASE_HOME
//	  stacks/<id>/data/<number>/  the database: PGDATA is data/ in it        (tree data)
//	  stacks/<id>/uploads/        Storage's files, with their attributes     (tree uploads)
//	  stacks/<id>/state.json      the CLI's own record of the stack
//	  stacks/<id>/owner.json      while the stack's supervisor lives
//	  forklift/                   what of the settings is saved              (tree state)
//	  cache                       a link to the services that all stacks of the store share
//	<branch>/run/project/         the overlay, which the CLI takes for the project
//	<branch>/run/stack.json       the last start: slot, CLI, addresses and keys (0600)
//	<branch>/run/ports.json       the branch's ports
//
// # The overlay
//
// The CLI would write supabase.lock into the worktree, listen at the fixed
// ports of config.toml, and take another stack after `git checkout`, because
// the git branch is part of a stack's name. So it is given a directory of the
// branch's own: config.toml without ports (and with the mail table under its
// new name), supabase.lock, and links to everything else in the worktree. It is
// derived again before each start, since a restore may have changed the
// project. A mark in it, .git/HEAD, is the git branch that the CLI sees; so the
// stack's id is that of the overlay's path alone, wherever the store is, and one
// for both slots.
//
// # The captured state
//
// state.json holds the stack's id, its instances and its keys. At rest it is
// copied to forklift/state.json with marks in the place of what is the
// branch's own (id, paths, number of the database), together with the lock of
// the services in use and the addresses that the status showed. Before a start
// the marks are filled in again. So the state of one worktree is that of any
// other, which is how `worktree add --from`, templates and restores of another
// worktree's checkpoint work. Which of the two counts is told by one file:
// forklift/state.json is there exactly while no start has used it. The lock of
// the services is part of it because the CLI refuses data of another build.
//
// # At rest
//
// A stack is at rest when its owner.json names no live supervisor (the command
// line must be the CLI's, of this stack: numbers are used again), no process of
// PostgreSQL works in the data directory, and the control file says that it was
// shut down. The supervisor inherits nothing of ours, so the live lock does not
// tell that a stack runs; one whose supervisor was killed goes down by itself.
// The lock tells that the CLI is at work: it inherits the lock while it starts or
// stops a stack. A CLI that outlives a killed Forklift is waited for.
//
// # Why a running stack is never known to be unchanged
//
// A plain PostgreSQL that did nothing since it was started on a checkpoint is
// not stopped for the next one: its WAL stands where the control file says. A
// stack's never does. The CLI sets the passwords of its roles at each start,
// with new salts, and lets the migrations of Auth and Storage look whether they
// are all there. To compare with what the start has left, that would have to be
// read before anybody else can write; but the gateway and the database listen
// before the CLI returns, and an app that was only waiting for them is served at
// once. Services start later still, when they are first asked for, and then
// write by themselves. Supabase's image also has unlogged tables (of pg_net),
// whose rows change without WAL. And Storage writes a file before its row, so
// that a quiet database says nothing about uploads. Each of these errors would
// be a checkpoint that lacks a write; what is spared is some seconds of a stack
// that nobody uses. So each capture stops the stack.
//
// # Ports
//
// Each branch has two ports, for the gateway and the database, chosen when they
// are first needed and kept, so that addresses stay the same over restores, and
// are known before the first start. They are not of the range from which the CLI
// chooses ports: a stack of another store, or of the user's, would take them while
// this one is stopped. The CLI
// keeps a table of the ports that stacks have, ~/.supabase/ports.sqlite, for
// all stacks of the user; that is the one thing outside of the store that it
// writes.
//
// # What runs
//
// Setting up a worktree of a Supabase project runs its migrations, seeds and
// services: that is what it is for. The CLI is the one on PATH; only without
// one is that of the project's node_modules used. Opening, State, Trees, Facts
// and Env run nothing.
//
// # Keys
//
// Keys and addresses are those of the CLI's status. They are kept in files that
// only the user can read, are marked secret for whoever prints them, and are
// taken out of the CLI's messages. A secret key is refused under a name that a
// browser would see.
package supabase
