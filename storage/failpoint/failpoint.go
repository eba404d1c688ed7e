// Package failpoint lets tests kill the process at every step.
//
// Every call that changes the outside world (a file, a directory, a process)
// calls [Hit] first, so that the state between any two changes is reached by
// dying at one hit. A normal build pays one nil check. A test build (tag
// "failpoint") reads its orders from the environment:
//
//	FORKLIFT_FAILPOINT_KILL=17       SIGKILL this process at its 17th hit
//	FORKLIFT_FAILPOINT_KILL=TEXT     at the first whose operation and path hold TEXT
//	FORKLIFT_FAILPOINT_KILL=TEXT>2   at the second hit behind that one
//	FORKLIFT_FAILPOINT_INTERRUPT=17  SIGINT it there, as Ctrl-C does
//	FORKLIFT_FAILPOINT_COUNT=FILE    write the number of hits to FILE at [Report]
//	FORKLIFT_FAILPOINT_TRACE=1       say each hit on the standard error
//
// What goes on side by side hits in an order that differs from run to run:
// a place that a test must meet exactly is named by TEXT, not by its number.
//
// A loop that fills something nobody can see yet (the pages of a slot that is
// marked dirty) brackets itself with [Bulk]: inside, only hits number 1, 2, 4,
// 8, … count, because dying between two of the others leaves the same
// situation: a dirty slot that is partly filled.
package failpoint

// hit is set by the failpoint build.
var hit func(op, path string)

// Hit marks the place just before a state-changing call. op is a short
// constant such as "rename"; path is what it changes.
func Hit(op, path string) {
	if hit != nil {
		hit(op, path)
	}
}

// bulk is set by the failpoint build.
var bulk func() func()

// Bulk thins the hits of this process until the returned function is called.
func Bulk() func() {
	if bulk != nil {
		return bulk()
	}
	return func() {}
}

// report is set by the failpoint build.
var report func()

// Report writes the count of hits, if asked for. main calls it before it
// exits.
func Report() {
	if report != nil {
		report()
	}
}
