// Package gitdir reads git repositories without trusting them.
//
// A repository's files are data that somebody else may have written: a
// `.git` file can point anywhere, a `commondir` can claim to belong to another
// repository, a configuration can name programs that git starts by itself.
// Forklift keys its records by these directories, so a pointer that is
// believed would let one directory act for another. Therefore:
//
//   - [Reader.Find] follows the pointers itself, with limits, and believes
//     them only when they are answered: the git directory must point back to
//     the worktree (for a linked worktree `worktrees/<name>/gitdir`, for a
//     submodule `core.worktree`), must lie inside the common directory it
//     names, and everything must belong to the user who runs this. GIT_DIR
//     and its relatives in the environment are ignored.
//   - Where git is the only one who knows the answer (the index, ignored
//     files, refs in whatever format), it is called as a child without a
//     shell: found in an absolute directory of PATH outside the worktree, told
//     which directories to use, hooks, fsmonitor, transports and lazy fetching
//     off, no optional locks (it writes nothing), a clean environment, a
//     deadline and a limit on its output. The commands used run no filters.
//
// Only AddWorktree, RemoveWorktree and DeleteBranch change anything: they call
// git, with its hooks and filters off. Nothing else in this package changes a file.
package gitdir
