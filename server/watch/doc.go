// Package watch tells when something in a worktree may have changed.
//
// A [Watcher] looks at one worktree: the directories that hold selected
// files, the directory of its records, those of its managed commands, the link
// and the index in its git directory, git's settings, and the user's approvals. The operating
// system reports what happens there; nothing is asked again and again. Events are gathered until it has been
// quiet for a moment, at most for a bounded time, so that ten thousand changes
// in a row are a few [Event]s. An event says where to look, never what is
// there: whoever gets it looks for himself.
//
// A target can be given whole, or be followed while a scan reads it ([Watcher.Begin]):
// each directory is watched before it is read, so that one walk is enough for both.
//
// Where the system has no watch left for a directory (inotify's
// max_user_watches, kqueue's open files), that directory alone is looked at
// with lstat instead, every [ScanEvery] and never for more than a twentieth of
// the time. A queue of the system that overflowed counts as a change of
// everything.
package watch
