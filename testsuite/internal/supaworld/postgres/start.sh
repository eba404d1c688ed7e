#!/bin/sh
# Starts a plain PostgreSQL where the CLI expects Supabase's: makes the cluster
# at the first start, with the roles and schemas that the CLI and the services
# count on, and leaves out the preloaded library that only Supabase's image has.
set -eu
bin=$(cd "$(dirname "$0")" && pwd)
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	# The CLI gives every role its password afterwards, and has an hba_file of its own.
	"$bin/initdb" -D "$PGDATA" -U supabase_admin --auth-local=trust --auth-host=reject -E UTF8 --no-locale --no-instructions >&2
	printf '%s\n' "wal_level = logical" "max_wal_size = 256MB" "min_wal_size = 32MB" "log_timezone = UTC" "timezone = UTC" >>"$PGDATA/postgresql.conf"
	"$bin/postgres" --single -j -D "$PGDATA" postgres <"$bin/../share/initial.sql" >&2
fi
n=$#
while [ "$n" -gt 0 ]; do
	case $1 in
	shared_preload_libraries=*) set -- "$@" "shared_preload_libraries=" ;;
	*) set -- "$@" "$1" ;;
	esac
	shift
	n=$((n - 1))
done
exec "$bin/postgres" "$@"
