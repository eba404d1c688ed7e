// Package session is what an editor sees of Forklift: the surface of the
// Language Server Protocol over the verbs of package commands.
//
// A [Hub] is shared by all sessions of a daemon. It keeps one tree per
// worktree: its watcher, its last status and the sessions that have it open.
// [Hub.NewSession] makes the handler of one connection. No state of a worktree
// is kept here that is not on disk as well; the hub only spares others to look.
//
// # Commands
//
// Every verb that needs no terminal is a command `forklift.server.<verb>`, with
// "_" for spaces. Its one argument is an object: the verb's Request and the key
// `worktree`, the URI of a directory in the worktree, which can be left out
// when the session has exactly one. The result is the verb's Result. A failure
// has the code of its kind and, as data, the commands.Failure of --json;
// an argument of the wrong type is named by its path, such as
// "arguments[0].wait".
//
// Verbs that change something run one after the other per worktree of a
// session, in the order of the wire. What two sessions do at once the engine's
// locks decide: the second is busy, and told with whom.
//
// A running verb is cancelled by $/cancelRequest and by
// window/workDoneProgress/cancel. Before its point of no return the engine takes
// everything back and the answer is -32800; behind it the verb is finished and
// its result is the answer. When the client dies or closes the connection, the
// verb goes on.
//
// # Worktrees
//
// The session's worktrees are those that hold its workspace folders (or its
// rootUri); never the directory of a process. A folder outside of any has
// status "not tracked" until it is set up. Only file: URIs with absolute paths
// are taken.
//
// # Status
//
// The notification `forklift/status` and the request of the same name carry
// exactly what `forklift status --json` prints, with tracked false for a folder
// that is none. One computation serves all sessions of a worktree. It begins
// when the watcher tells of a change, or when a client asks; nothing is polled,
// but for one thing: while an operation of another process holds the worktree
// its lock is tried every [operationEvery], because a lock that is released
// makes no event. After attaching, a first status comes without the changed
// files (files_known is false), the second one with them.
//
// # Further messages of our own
//
//	forklift/status       {worktree}: a status that was begun after the request
//	forklift/checkpoints  {worktree, all, project, limit, after}: rows of
//	                      `forklift list`, newest first, and `next` for the page behind
//	forklift/content      {uri}: as workspace/textDocumentContent, {text}
//	forklift/plan         {worktree, ref, paths, code_only, data_only}: exactly what
//	                      `forklift restore REF --plan --json` prints, {plan: {plan_id, files,
//	                      written, removed, database, in_the_way, ...}}; nothing is changed.
//	                      `forklift.server.restore` with {plan: plan_id, yes: true} and the
//	                      same keys does just that, or refuses
//	forklift/file         {uri}: {worktree, path, selected, checkpoints}: whether a capture
//	                      would save the file, and which of the latest checkpoints of this
//	                      worktree have it, and as it is on disk ({id, name, has, same})
//	forklift/commands     {worktree}: {commands, trusted}: what .forklift.json names for
//	                      `forklift run` ({name, argv}), and whether it is approved
//	forklift/didRestore   a notification: a restore, undo or redo was done, by
//	                      whomever, and exactly these files were written or removed
//
// The URI of a file at a checkpoint is
//
//	forklift:/absolute/path/of/the/file?checkpoint=REF
//
// where REF is what `forklift restore` takes, or a checkpoint's id. There is no
// authority and no fragment. The path says which worktree is meant. Since
// editors encode a query as they like ("checkpoint%3DREF"), it is decoded as a
// whole before it is cut at the first "=".
//
// # Code actions
//
// On any file of a tracked worktree, with one command of a verb each:
//
//	source.forklift.capture      capture
//	source.forklift.restore      one per latest checkpoint
//	source.forklift.undo         undo of the last restore
//	source.forklift.restoreFile  only this file, as it was at a checkpoint
//	                             that has it otherwise than it is now
//	quickfix                     recover, and only that, when interrupted; on
//	                             .forklift.json also what mends its diagnostics (an
//	                             edit), and "trust this configuration" (a command)
//
// # The configuration file
//
// An open .forklift.json at the top of a worktree has, by its text as it is
// typed: textDocument/publishDiagnostics with the document's version, a range for
// each problem, source "forklift" and a code of package configls (such as
// "unknown-key", "missing-path", "untrusted"); textDocument/hover with what a key
// means; textDocument/completion of keys, values and paths. A file that is
// closed keeps what its text on disk has. Diagnostics are an error where Forklift refuses
// the file, and a warning where something would not work as it seems.
//
// Further diagnostics: "interrupted" at .forklift.json and at every open file
// of the worktree; "dotenv" at the lines of .env and its like that point the
// worktree's variable to another database, whether such a file is open or not.
//
// # Unsaved buffers
//
// The texts of open files are followed. A change makes a file unsaved at once;
// when it has been quiet for [compareAfter] it is compared with the disk, so
// that a change that was taken back, or a buffer that was read again after a
// restore, counts no more. The list is kept in a record of the worktree, where
// the command line sees it too, and what was told before a request is in it when
// the request is served. Requests answer it with `include_unsaved`:
// "disk". A file of a worktree inside of an open one belongs to that inner
// worktree alone, which need not be open itself.
package session
