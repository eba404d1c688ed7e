// Package realinput rewinds databases that look like those of real
// applications, while clients work on them.
//
// Three schemas, each well over 100 MB (schemas/*.sql, loaded by `forklift
// seed create`): an order system with foreign keys, triggers and partitions;
// documents with vector and trigram indexes; many schemas with roles, row
// security, large objects and sequences.
//
// On each of them clients run transactions, some through pgx and one through
// psql, which remember what the server has acknowledged. A round is
//
//	work → capture, which cuts the clients off → dump
//	work → restore, which cuts the clients off → the dump is the same
//	undo → everything that was acknowledged until the restore is there
//
// After each cut a client waits until it is told to go on, so that what the
// database holds between two dumps is what the verb left. A transaction whose
// acknowledgement was lost may be there or not; nothing else may.
//
// With FORKLIFT_TORTURE=all there are fifty rounds instead of two, and the
// sources hold a file of 2 GiB and 100,000 small ones.
package realinput
