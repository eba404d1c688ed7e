#!/usr/bin/env bash
# postgres17.sh DIRECTORY
#
# Prints the folder of PostgreSQL 17's programs, with pgvector and all tools,
# that the tests use. Messages go to stderr. The first of these that has
# everything is taken:
#
#   1. $FORKLIFT_PG_BIN, if it is set (it must have everything then)
#   2. DIRECTORY, if an earlier run filled it
#   3. an installation of the system's package manager
#   4. on Debian 12 and 13: Debian 13's packages, unpacked into DIRECTORY
#
# Way 4 needs no root and changes nothing of the system (see debian.sh). Each
# program gets a three-line starter that runs it with the C library of Debian
# 13. DIRECTORY may be moved as a whole. It appears by one rename when it is
# complete; several runs at once wait for each other.
set -euo pipefail
. "$(dirname "$0")/debian.sh"

recipe=1 # a new number makes every machine unpack anew
suite=trixie
packages=(
	postgresql-17 postgresql-client-17 postgresql-17-pgvector
	libc6 libicu76 libldap2 libpq5 libssl3t64 libzstd1 liblz4-1 libxml2 libxslt1.1 libgssapi-krb5-2
	libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libpam0g libselinux1 libsystemd0
	libuuid1 zlib1g libgcc-s1 libstdc++6 libsasl2-2 liblzma5 libcap2 libpcre2-8-0 libaudit1 libcap-ng0
	libreadline8t64 libtinfo6 libxxhash0
)

say() { echo "postgres17: $*" >&2; }
die() {
	say "$@"
	exit 1
}

[ $# -eq 1 ] || die "usage: postgres17.sh DIRECTORY"
dir=$1

# missing BIN: says what a folder of programs lacks; nothing if it is complete.
missing() {
	local bin=$1 program share
	for program in postgres initdb pg_config psql pg_dump pg_dumpall pg_ctl; do
		[ -x "$bin/$program" ] || {
			echo "$program"
			return
		}
	done
	case $("$bin/postgres" -V 2>/dev/null) in
	"postgres (PostgreSQL) 17."*) ;;
	*)
		echo "version 17"
		return
		;;
	esac
	share=$("$bin/pg_config" --sharedir 2>/dev/null) || share=
	for program in vector pg_trgm; do
		[ -e "$share/extension/$program.control" ] || {
			echo "the extension $program"
			return
		}
	done
}

# fetch TEMP: downloads the packages and unpacks them into TEMP/tree.
fetch() {
	local temp=$1
	debian_apt "$suite" "$temp/apt"
	debian_unpack "$temp/tree" "${packages[@]}"
	# Without LLVM beside it, the JIT library makes the first expensive query fail.
	rm -f "$temp"/tree/usr/lib/postgresql/17/lib/llvmjit*.so
	rm -rf "$temp"/tree/usr/share/{doc,man,locale,lintian}
}

# wrap ROOT TRIPLET LOADER: gives each program a starter. It ends in exec, so
# the process id stays the caller's.
wrap() {
	local root=$1 triplet=$2 loader=$3 program
	for program in "$root"/usr/lib/postgresql/17/bin/*; do
		[ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
		mv "$program" "$program.real"
		cat >"$program" <<STARTER
#!/bin/sh
case \$0 in */*) d=\${0%/*} ;; *) d=\$(dirname "\$(command -v "\$0")") ;; esac
d=\$(cd "\$d" && pwd); l=\${d%/lib/postgresql/17/bin}/lib/$triplet
exec "\$l/$loader" --library-path "\$l" --argv0 "\$d/\${0##*/}" "\$d/\${0##*/}.real" "\$@"
STARTER
		chmod 755 "$program"
	done
}

if [ -n "${FORKLIFT_PG_BIN:-}" ]; then
	lack=$(missing "$FORKLIFT_PG_BIN")
	[ -z "$lack" ] || die "FORKLIFT_PG_BIN=$FORKLIFT_PG_BIN lacks $lack; the tests need PostgreSQL 17 with all tools and pgvector"
	echo "$FORKLIFT_PG_BIN"
	exit 0
fi

bin=$dir/usr/lib/postgresql/17/bin
ready() { [ "$(cat "$dir/recipe" 2>/dev/null)" = "$recipe" ] && [ -z "$(missing "$bin")" ]; }
finish() {
	(cd "$bin" && pwd)
	exit 0
}
ready && finish

candidates=(/usr/lib/postgresql/17/bin /usr/pgsql-17/bin /opt/homebrew/opt/postgresql@17/bin /usr/local/opt/postgresql@17/bin)
if command -v pg_config >/dev/null; then
	candidates+=("$(pg_config --bindir)")
fi
for candidate in "${candidates[@]}"; do
	if [ -d "$candidate" ] && [ -z "$(missing "$candidate")" ]; then
		echo "$candidate"
		exit 0
	fi
done

elsewhere="install PostgreSQL 17 with its client tools and pgvector, and set FORKLIFT_PG_BIN to the folder of its programs"
id=$(debian_release) || die "this is not Debian: $elsewhere"
case $id in
"debian 12" | "debian 13") ;;
*) die "this is '$id', and the packages are Debian 12's and 13's: $elsewhere" ;;
esac
debian_triplet || die "there is no recipe for this processor: $elsewhere"

mkdir -p "$(dirname "$dir")"
dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir") # apt wants absolute names
bin=$dir/usr/lib/postgresql/17/bin
exec 9>"$dir.lock"
flock -w 600 9 || die "another run has been filling $dir for ten minutes"
ready && finish # by the run we waited for

say "unpacking Debian's PostgreSQL 17 and pgvector into $dir (once, about 45 MB)"
rm -rf "$dir".new.*
temp=$(mktemp -d "$dir.new.XXXXXX")
chmod 755 "$temp" # the server may run as another user than this script
trap 'rm -rf "$temp"' EXIT
fetch "$temp"
wrap "$temp/tree" "$triplet" "$loader"
lack=$(missing "$temp/tree/usr/lib/postgresql/17/bin")
[ -z "$lack" ] || die "the unpacked packages lack $lack"
echo "$recipe" >"$temp/tree/recipe"
rm -rf "$dir"
mv "$temp/tree" "$dir"
finish
