// Package daemon is the process behind the editors: one for each user, started
// by the first front that finds none, ended when nobody uses it.
//
// # Where
//
// The directory is $XDG_RUNTIME_DIR/forklift, or forklift-UID in /tmp where
// there is no private runtime directory ([PlaceOf]). It must be a real
// directory of the user with mode 0700, else both sides refuse to go on. In it
// are the socket (0600 from its first moment, because umask is set around the
// bind), the lock and the lock of those who start a daemon. Both sides ask the
// kernel for the user at the other end and refuse another one. The log is in
// the directory of Forklift's state, of limited size.
//
// # One
//
// The daemon holds the lock for its whole life; flock ends with the process
// whatever kills it, and the lock file is never removed. Only the holder
// removes and binds the socket. Pids are not compared with anything. A front
// that finds nobody at the socket takes the second lock, dials again, and
// starts this program with "daemon --background"; other fronts meanwhile find
// that lock taken and dial again.
//
// # Handshake
//
// One line of JSON each way, a [Hello] and a [Welcome], before any other
// byte. The number in the socket's name is that of these two lines;
// [Proto] is that of what follows. A front with a newer Proto, or the same and
// a later release, lets the daemon end as if asked to stop and then starts its
// own. An older front is served as long as its Proto is known, else told what
// to do. Both need the same directory: two builds never serve one user side by
// side.
//
// # End
//
// On a signal, on "forklift daemon stop", for a newer front, or when there
// were no clients and no work for the idle time. It takes no new sessions and
// no new operations, finishes those that run, tells the fronts that this is on
// purpose, closes their connections, removes the socket and lets the lock go.
// A kill at any moment loses nothing: the disk is the authority and everything
// here can be made again.
//
// # Database servers
//
// From time to time it looks at the servers of the worktrees that editors
// have or had open and stops those that nobody used for a while. It asks with
// locks that do not wait, so a user's verb goes first.
//
// In the worktrees that editors have open it also has the idle slot prepared for
// the next restore, soon after something was captured or restored. That ends at
// once when a verb begins there, and when the daemon ends.
package daemon
