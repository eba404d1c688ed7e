// Package inherit keeps the files that this process was itself started with
// away from what it starts and leaves behind.
//
// A managed command inherits the lock that says that it lives. What it starts
// inherits it too, as it should; a server or a daemon that stays must not, or
// the command would seem to live as long.
package inherit
