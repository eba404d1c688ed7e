// Package basebackup takes a physical copy of a running PostgreSQL server by
// the replication protocol, as pg_basebackup does, without any program of
// PostgreSQL.
//
// [Run] sends BASE_BACKUP on a replication connection and unpacks the tar
// archive that comes back into a directory. The WAL that makes the copy
// consistent is part of the archive; a temporary replication slot, which goes
// away with the connection, keeps the source from recycling it meanwhile.
//
// The source is believed as little as any stranger: only regular files and
// directories are made, only below the directory, only with the names that a
// data directory has at its top; everything else there (configuration, keys,
// logs, signal files) is left out and named in [Info]. Names, counts and sizes
// have limits. A tablespace outside the data directory is an error.
//
// What is unpacked is not flushed, and is a crashed cluster: a server that is
// started on it recovers from backup_label.
package basebackup
