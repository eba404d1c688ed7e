// Package torture kills Forklift at every step.
//
// The command is built with failpoints: each call that changes a file, a
// directory or a process is a step that the process can be told to die at
// (SIGKILL, so no clean-up of its own runs). For each verb the sweep prepares
// one world, a store and a worktree with files and a database, and then, for
// n = 1, 2, 3, … until a run is not killed any more:
//
//	put the world back, run the verb and kill it at step n
//	a journal is there  ⇔  status says interrupted  ⇔  `run` is refused with the remedy
//	recover
//	files and database together equal the state before the verb, or the state after it
//	the checkpoints' names agree with that, the journal is gone, no process is left
//
// The sweep of recover is nested: for kills on both sides of a restore's
// switch (FORKLIFT_TORTURE=all: all over it) recover itself is killed at each of
// its steps, and a second recover must still end before or after. The number of
// steps is counted by the sweep and printed; it is not chosen.
//
// Setup, capture and restore with a running server, undo, and recover are killed
// at every step. A sweep whose steps those have too takes one in eight, and every
// step of a kind that only it has. FORKLIFT_TORTURE=all takes all of all.
//
// The undo of a restore with --discard-current swaps a cluster back that no server
// starts in: its files are compared byte for byte. The preparation of a
// restore, which the daemon does, has no journal, and nobody recovers from it: a
// restore into the slot that it left, and its undo, must be exact.
//
// The power is cut for real, too: a world lives on an ext4 of its own on a loop
// device; the verb is killed at a step, the file system is shut down without
// flushing its journal, mounted again as after a boot (another boot id), and
// recover has to end before or after. That needs root and loop devices.
//
// Sweeps run side by side, each in a world of its own, one more than there are
// cores, because a round waits for processes half of its time.
package torture
