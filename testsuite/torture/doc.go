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
// The sweep of recover is nested: for kills spread over a restore, and on both
// sides of its switch, recover itself is killed at each of its steps, and a second recover must
// still end before or after. The number of steps is counted by the sweep and
// printed; it is not chosen.
package torture
