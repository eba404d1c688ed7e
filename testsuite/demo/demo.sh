#!/usr/bin/env bash
# demo.sh FORKLIFT
#
# Plays two stories about a small invoicing application whose code and
# database are rewound together. Everything happens in a temporary directory,
# with a store and a PostgreSQL of its own that are removed in the end.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
forklift=${1:?usage: demo.sh FORKLIFT}
forklift=$(cd "$(dirname "$forklift")" && pwd)/$(basename "$forklift")

work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE)
export GOCACHE GOMODCACHE
export XDG_DATA_HOME=$work/data XDG_STATE_HOME=$work/state
export GIT_CONFIG_GLOBAL=$work/gitconfig GIT_CONFIG_NOSYSTEM=1
printf '[user]\n\tname = Demo\n\temail = demo@example.com\n[init]\n\tdefaultBranch = main\n' >"$GIT_CONFIG_GLOBAL"
PATH=$work/bin:$PATH
mkdir "$work/bin" && ln -s "$forklift" "$work/bin/forklift"

finish() {
	for worktree in "$work"/a "$work"/b; do
		[ ! -d "$worktree" ] || (cd "$worktree" && forklift teardown --yes >/dev/null 2>&1) || true
	done
	cd /
	rm -rf "$work"
}
trap finish EXIT

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'
fi

title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
say() { printf '\n%s\n' "$1"; }
# run shows a command, as one would type it, and runs it.
run() {
	local word shown=''
	for word; do
		case $word in *' '*) word="'$word'" ;; esac
		shown+=" $word"
	done
	printf '%s%s $%s%s\n' "$dim" "$(basename "$PWD")" "$shown" "$plain"
	"$@"
}
# app runs the application in this worktree, against its own database.
app() { run forklift run -- go run ./src "$@"; }
# expect runs the application and stops the demonstration unless it prints a line.
expect() {
	local line=$1 out
	shift
	out=$(app "$@")
	printf '%s\n' "$out"
	case $out in
	*"$line"*) ;;
	*)
		printf 'expected: %s\n' "$line" >&2
		exit 1
		;;
	esac
}
# change lets "an agent" edit the worktree: a patch with a migration and code.
change() {
	run git apply "$here/$1.patch"
	git diff --stat
	git ls-files --others --exclude-standard
}

start=$SECONDS
title 'Forklift: an application and its database, rewound together'
if [ -z "${FORKLIFT_PG_BIN:-}" ]; then
	say 'A machine without PostgreSQL: Forklift fetches one for itself.'
	run forklift postgres install
fi

say 'A repository with a small invoicing application in Go, and a seed: the
database that each of its worktrees begins with.'
mkdir "$work/a"
cd "$work/a"
git init -q
cp -R "$here/app/." .
sed 's/^module .*/module invoices/' "$top/go.mod" >go.mod
cp "$top/go.sum" go.sum
cat >.forklift.json <<'JSON'
{"format": 1, "source": ["src", "migrations"], "connection_env": "DATABASE_URL"}
JSON
git add -A
git commit -q -m 'Version 1'
run forklift seed create invoices --sql "$here/seed.sql"
run forklift setup --seed invoices --yes
run forklift db start

title '1. Version 2 goes wrong, and everything goes back'
say 'Version 1 lists three invoices.'
expect 'outstanding: 175 $' list
run forklift capture version-1 -m 'three invoices, before the archive'

say 'An agent writes version 2: a migration adds a column, the list hides archived
invoices. It archives invoice 1, which is paid. The new migration file is not even
known to git.'
change archive
expect 'migrated: 002_archived.sql' archive 1
app list
run forklift status

say 'That was not wanted. One command puts code and data back.'
run forklift restore version-1
expect 'invoice 1' list
run git status --short

say 'And if it was wanted after all, nothing was lost.'
run forklift undo
app list
run forklift restore version-1

title '2. Two ideas at once'
say 'Partial payments, tried in two incompatible ways, in two worktrees. Both
databases begin as the seed.'
git branch -q idea-b
run git worktree add -q ../b idea-b
cd ../b
run forklift setup --seed invoices --yes
cd ../a
run forklift capture before-the-idea

say 'Worktree a gets a column for the amount that was paid.'
change column
expect 'outstanding: 175 $' list
say 'Worktree b gets a table of payments.'
cd ../b
change table
expect 'outstanding: 175 $' list

say 'A customer pays 25 $, and only b hears of it.'
app pay 2 25
expect 'outstanding: 150 $' list

say 'The column was the worse idea: a is rewound, code and schema. b does not notice.'
cd ../a
run forklift restore before-the-idea
expect 'outstanding: 175 $' list
cd ../b
expect 'outstanding: 150 $' list
run forklift list --project

say "Done in $((SECONDS - start)) seconds. Everything was in $work, which is removed now."
