// Package config reads the two configuration files of Forklift.
//
// `.forklift.json`, at the top of a worktree, is shared and committed: what
// is saved, what can be run, which kind of database. [Parse] is strict. An
// unknown key, a wrong type, a doubled key or a path that cannot be a source
// is an error with line and column; all problems of a file come at once.
//
//	key             type                   meaning
//	format          number, required       1
//	source          strings, required      files and directories that a capture saves, relative to the worktree; ["."] is all of it
//	ignore          strings                patterns as in .gitignore, relative to the worktree: not saved
//	gitignored      "skip" or "include"    whether files that git ignores are left out (default "skip")
//	connection_env  string                 variable that gives commands the database's address (default "DATABASE_URL")
//	commands        {name: strings}        what `forklift run NAME` starts: program and arguments, without a shell
//	hooks           object                 for a long-running app: stop and start (strings) are programs with arguments
//	                                       that stop it before an operation and start it afterwards, each within
//	                                       timeout_seconds (number, default 60)
//	database        {kind: string, ...}    kind of the database; the other keys are the kind's own and checked by it
//	supabase        object                 settings of the Supabase kind, checked by it
//
// Nothing in that file is expanded or run by this package; what would run
// needs the user's approval first (package trust).
//
// `forklift.toml`, in the repository's git common directory, is the machine's
// part: where the store is, which seed new worktrees get, where PostgreSQL is
// installed. It is read by [ParseMachine], equally strict.
package config
