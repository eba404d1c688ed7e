// Package storage keeps bytes that must not be lost: the store.
//
// The store knows one thing: a directory tree at rest becomes a manifest, and
// a manifest becomes a directory tree. A checkpoint ([Pair]) names the
// manifest of the selected source files and those of the databases of the
// same moment, and has a name itself. Nothing that is stored is ever changed.
//
//	w, err := store.NewWriter(ctx)                       // holds the store's lock shared
//	defer w.Abort()                                      // until here
//	hot, err := w.Scan(ctx, root, rules, store.LoadMemory(…)) // while the server runs
//	tree, err := w.Scan(ctx, root, rules, hot.Memory)    // at rest: reads what was touched since
//	err = w.Commit(ctx)                                  // durable and verified
//	err = store.PutPair(ctx, pair)                       // durable; checks what it names
//	err = store.SetName(ctx, …)                          // published
//	…
//	stats, err := store.Patch(ctx, fs, dir, tree.Manifest, PatchOptions{Have: …})
//
// # Layout
//
//	format                     record "store": id, generation; a newer format is refused
//	store.lock                 flock: shared by all readers and writers, exclusive to delete
//	packs/ab/<id>.pack         blobs; package internal/pack has the bytes
//	index/<id>.idx             where blobs are; package internal/index has the bytes
//	pairs/<project>/<id>.json  record "pair"
//	names/<project>/<worktree>/[kind@]<name>   record "name": leads to a pair
//	meta/<project>/<id>.json   record "meta": which name counts, note, protection; absent for most pairs
//	tmp/<random>/              what a writer has not published; its lock file "lock" is held
//	damaged/                   what a repair has set aside
//	prune.lock                 flock of the one prune or repair that may run
//
// Projects and worktrees are ids that are [ValidName]s; "" is written "=".
// A name in a file name is in lower case, followed, if it has capitals, by '='
// and a bit mask of where they are in hexadecimal, so that names differ on
// file systems that ignore case. Names of captures have no kind before them; '@' is in no
// name, so the other kinds are namespaces that users cannot reach.
// Directories have mode 0700, files 0600. Other things in the directory
// (worktrees, branches, images) are the engine's.
//
// # Blobs
//
// Everything is made of blobs, which are addressed by their BLAKE3-256: pages
// of 8 KiB, chunks of source files (a file below 1 MiB is one; larger ones are cut by
// a rolling hash, 256 KiB to 2 MiB), and the nodes of manifests. New blobs are packed in
// the order of the file into frames of 256 KiB, nodes apart from content. A
// blob that is stored is not stored again; that it is stored is believed only when
// its whole id stands in the frame's rows, and the pack is there with its
// size. What a lost pack held is stored again when it is next met, and as
// long as one is lost nothing that was remembered is trusted.
//
// # Manifests
//
// A manifest is the ID of the root of a Merkle tree that depends on the tree
// alone: equal trees have equal manifests, however they came about. All numbers
// are varints, paths share what they have in common with the path before.
// Each node begins with its kind and version and has one encoding only;
// others are refused. The version is 1, that of a run with setuid, setgid or sticky bits 2:
// what was written before those were kept is read as ever, and a Forklift that
// does not know them says that a newer one is needed. Functions encodeRun, encodeBranch and encodeContent
// have the bytes.
//
//	run 'R'      up to 64 entries, in the order of paths ('/' below all other bytes, "." first)
//	branch 'B'   up to 128 runs, or branches of the level below
//	content 'C'  up to 64 blobs (depth 1: a span), or content nodes of the depth below
//
// Runs and branches end where the hash of a path says (after 32 entries and
// 64 children on average), so that a path that comes or goes changes its own run
// and what is above it. The content of a file is a reference [Content]: depth
// 0 is the blob itself, and the root is the lowest node that holds all. A changed
// page of a 1 GiB segment rewrites three content nodes of 2 KiB, one run and
// two branches.
//
// Sources keep times, user attributes and holes; clusters keep none of them, so
// that their manifests depend on nothing but names, modes and bytes.
//
// # Publishing, and why a crash cannot hurt
//
//  1. Packs are written under tmp/, flushed, and renamed to their names;
//     the directory is flushed. Nobody looks for them yet.
//  2. They are read back: every byte, every blob.
//  3. An index that names them, and holds what some older ones held, is
//     published in the same way. From here on their blobs count as stored.
//     Then the older ones are removed, without a flush: one that comes back after a power
//     cut says things twice.
//  4. PutPair looks that the roots are stored and all packs have their size, and
//     creates the pair.
//  5. SetName creates the name, exclusively. This is what publishes.
//
// Each step is durable before the next begins, so whatever is found after a
// crash rests on things that are whole. Left over can be: a directory under
// tmp/ (the next writer that can take its lock removes it), packs that no
// index names ([CheckReport].Unused; a prune removes them), blobs that no pair
// reaches (the next capture uses them), a pair without a name (recovery
// deletes or names it). A failed flush fails the capture; nothing is retried.
// A capture takes 8 flushes: two each for pack, index, pair and name; one
// more when a directory is new.
//
// # Locks
//
// Reading methods hold the store's lock shared for their duration, a writer
// from NewWriter to Abort. Only what deletes takes it exclusively: forget,
// rename, a change of meta, and the ends of prune and repair. These open the
// store a second time, so that they lock out other goroutines of the process
// too. prune.lock is held by the one prune or repair that may run. The lock comes
// last in the order of all locks: operation, server, slots, store.
//
// # Forgetting and pruning
//
// [Store.Forget] removes a name, then its pair. Data goes with a prune:
// [Store.PlanPrune] marks, under the shared lock, all that the named pairs and
// the caller's [Roots] reach, a bit for each blob by its place; [Pruner.Run] writes
// the marked blobs of packs that are partly needed into new packs and publishes
// them, so that they are there twice. Then, alone: it marks what was
// published since, with the packs that go hidden, and refuses if something is missing;
// changes the generation; removes pairs; publishes indexes without those packs;
// removes the old ones and flushes the directory; removes the packs. What is
// written again is bounded by the space that is free, the emptiest packs first.
// Packs are named by their content, so one that is written again can be one that a
// killed prune wrote before: it stays.
//
// Whoever remembers that something is stored (a [Memory], the indexes that a
// Store has open) rests on a generation. A Store looks at the format file
// when it takes the lock, and forgets all of it when the generation has changed.
//
// [Store.PlanRepair] reads everything. Packs that are damaged give their
// good blobs to new ones, packs without an index get one from their tables, and
// the indexes forget what is lost: from then on it counts as not stored and is
// stored again when a capture meets it. Damaged files are moved, never deleted.
//
// A rename is switched by the meta record: it says which of the names that
// lead to a pair counts. What a killed rename left of the other is ignored.
//
// # Reading
//
// Nothing is trusted because it is there: records have checksums, index
// blocks too, sizes are held against limits before memory is allocated, a
// blob is given out only if it has its hash, a node only if it is what the node above
// says, in its one encoding, with paths that stay inside. An error of kind
// Corrupt names the file or the blob.
//
// # Memory and speed
//
// Scans and patches use two goroutines that read, hash and compress, or
// decode and write. A patch may be given a directory that is alike
// (PatchOptions.Near): to copy a page there and hash it costs less than to decode
// it, and the hash decides in any case. What they hold does not grow with the size of files. A
// writer remembers the ids of the blobs that it stores (about 100 bytes each).
package storage
