// Package trust remembers what the user approved.
//
// A repository's .forklift.json names programs: commands and hooks. A
// repository must not vote on its own trust, so none of them runs before the
// user approved the file's content in that worktree. An approval is a file in
// the user's state directory whose name is a hash of the worktree's real path,
// its id and the file's content: another path, another worktree or one
// changed byte is another name, and thus not approved. Nothing is inherited
// through a pointer, and no answer is kept in the repository.
//
// The content says what is run, not what the programs do: approving
// `["make", "test"]` approves whatever the Makefile says.
package trust
