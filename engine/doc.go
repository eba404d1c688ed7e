// Package engine is what it means to capture and restore a pair: the source
// files of a git worktree and its database, of one moment, together.
//
// # Parts
//
// A [Host] is what the process gives: file system, clock, git, the database
// kinds. [Setup] gives a worktree its identity and its branch, [Open] opens
// one that was set up, and the methods of [Worktree] are the verbs. The
// engine knows a database only as a [Database]: something that comes to
// rest, says which directory trees are its state, and starts again. It knows
// files only through storage/vfs, so that every step also runs in memory,
// with the power cut at every call.
//
// # Records
//
// The authority on a worktree is <store>/worktrees/<id>/, because git
// deletes its own directories with everything in them; <git dir>/forklift.json
// only points there. worktree.json says who it is, current.json (the
// selection) which pair and slot it is at, slot-a.json and slot-b.json what
// the two slots hold, journal.json what is under way, operations.log what
// was done. All are checksummed and replaced by atomic rename.
//
// unsaved/ has one record per editor session with unsaved buffers. A capture of
// such a file, and a restore that would change one, are refused in every
// process unless the user says that what is on disk is meant. A record counts
// only while both its writer and its editor live, by process number and start.
//
// # Locks
//
// hooks.lock → operation.lock → server.lock → slot-a.lock → slot-b.lock → the
// store's, in this order, never back. An operation (capture, restore, undo, redo,
// recover, teardown) holds operation.lock exclusively from before its
// journal until after; `run` holds it shared only while it registers its
// holder, whose flock the command inherits. So an operation that holds the
// lock and finds every holder free knows that no managed command runs, and a
// command that registers later finds the lock taken.
//
// server.lock is held by whoever starts or stops the server. A slot's lock
// is held while its files or its record are written.
//
// # One switch
//
// Each operation has exactly one switch, an atomic rename or link:
//
//	capture           the pair's name
//	restore/undo/redo current.json names the operation
//	setup             the link in the git directory
//	teardown          the removal of that link
//
// Before it, everything new is invisible garbage; after it, everything old
// is garbage that may be kept. Errors and Ctrl-C before the switch take
// everything back; behind it the operation goes on whatever the user does.
//
// # Why a crash leaves before or after
//
// The journal is durable before the first change and is removed after the
// last, so a killed operation leaves it, and everything that would change
// the worktree or start its server is refused until [Worktree.Recover] has
// run. Recover takes the locks, makes journal and selection durable before
// it believes them, and asks one question: was the switch made? The phase in
// the journal is for people.
//
//   - Not made. The present slot and the user's files are untouched: patching
//     writes only to the other slot, which was marked dirty first, staging
//     only to a directory of its own. Recover removes what was staged and a
//     pair that got no name, and starts the server if it ran.
//   - Made. All that the rest needs was flushed before the switch: the
//     patched slot, the staged files with the install list, the safety pair.
//     Recover runs the install list again (each of its steps looks at what
//     is there), and when the staged files are gone makes them again from
//     the store. Then outcome, then the end of the journal.
//
// With --back a restore behind its switch is taken back, as long as the slot
// it left is proven untouched: the journal durably says so first and then
// only can be finished backwards. For the same reason no server starts in
// the old slot while a journal is present, and none in the new one: what a
// client wrote there would be lost.
//
// Recover may itself be killed anywhere: every step is found done or is done
// again. Each end appends one outcome row, durably, before the journal is
// removed; undo and redo read outcomes only. A journal whose operation has an
// outcome is a leftover (its removal was not flushed): recover only tidies
// up, so that it never installs over what the user has done since.
//
// # Slots
//
// A branch's live files are in slot a or b. A restore patches the idle one,
// starting from what its record proves it to hold: the record is clean only
// after a flush, carries the boot id and one number for the lstat of every
// file, and is made dirty, durably, before anything writes to the slot, a
// server start included. Without that proof every file is compared by
// reading. The slot that a restore leaves was saved without a restart, so it
// holds exactly the safety pair, and the next restore starts from there.
//
// What the idle slot lacks mostly is in the other one: a page that has the right
// hash is copied from there, under a running server, too, since what was read into
// memory is what is hashed and written. The present state is read meanwhile, side
// by side with the patch; if that ends long after, it is read once more before the
// server stops, so that the database is away for the last writes only.
//
// A database that cannot be brought to rest cannot be saved. With
// --discard-current the slot that it is in is flushed before the switch and
// renamed to kept/<safety pair> behind it; that pair says so by its state. Undo
// makes the idle slot it by a rename before its switch; going back renames it
// back, so that at each moment one of the two names is it. Its server is not
// started, and leaving it again needs no flag: it is set aside once more. What
// was set aside for a pair that was forgotten goes with the next operation.
//
// Nothing but time is lost by a slot that holds something else. So one who has
// time (the daemon) may prepare the idle slot, with [Worktree.PrepareIdle]:
// under the slot's lock and the store's shared lock alone, with the same marks. It
// looks all the time whether an operation wants to begin, and then ends. Whoever
// removes a branch takes the locks of both slots first.
//
// # Parts
//
// A restore may be of a part: all source files, some paths of them, or the
// database. It is the same operation with the same journal, switch, safety pair
// and undo; what differs is what it touches:
//
//	             server     safety pair holds   install       slot      selection
//	both         stopped    both halves         T over S      the other both halves at T
//	code         goes on    source files        T over S      the same  source at T
//	paths        goes on    source files        those paths   the same  unchanged
//	data         stopped    both halves         nothing       the other database at T
//
// The selection keeps the pairs of the two halves apart instead of joining
// them in a new pair: a pair is what was there at one moment, and this never
// was. After single paths both halves rest where they were, and the paths show
// as changes, as in git. A pair's parent is the one that its database comes
// from, so that counters can be compared along a line of parents.
//
// Part and paths are in the log row: undo takes back just that part, so that
// what was done to the rest since stays.
//
// A plan is the restore's own planner over the present files instead of a
// saved manifest. Its id covers what is there now and what would be, and is
// compared again under the locks, before the journal.
//
// # Hooks
//
// hooks.lock spans an operation from before its stop hook until behind its
// start hook; without hooks nobody takes it. The stop hook runs under
// operation.lock, before anything is changed; the start hook behind the
// release of all other locks, so that what it launches can register, and only
// when no journal is left. app.json, durable before the stop hook begins and
// removed when the start hook has succeeded, says that the app is to be
// started: a journal could not, because it is gone before the start hook
// runs. Who is killed in between leaves it; recover, or the end of the next
// operation, starts the app. The engine starts no program itself: Host.RunHook
// does.
//
// # Decisions
//
// Undo reverts the last restore, undo or redo, so that undo twice ends where
// one began; redo is an undo that insists that the last move was an undo. A
// capture is never undone.
//
// A worktree that is set up again where it was torn down has its old id and
// name, so that its checkpoints and its log are its own again; undo does not
// reach behind that setup. Until its link is written the record says torn
// down, as before. `setup --new` gives a new identity.
//
// A running server that nobody pinned, whose commands are gone and which has
// no client, was left by a killed run: an operation stops it and does not
// start it again.
//
// The safety pair covers every path that the restore writes or removes, also
// those outside the present selection, so that undo is exact for files that
// were never captured.
//
// A capture that finds that nothing has happened in the running database since
// the pair that the worktree rests on names that pair's database again and
// stops nothing. The database kind says so ([Database.Unchanged]), for all the
// time since the server was started; it is asked behind the read of the source
// files, so that both halves were there at that moment. When it cannot tell,
// and when the server is to stay stopped, the capture is an ordinary one.
//
// The counters of a pair (rows inserted, updated, deleted per table) are
// asked of the server right after its restart, because sessions hand in
// their counts when they end; of a stopped server they are those that were
// seen when it was stopped idle.
package engine
