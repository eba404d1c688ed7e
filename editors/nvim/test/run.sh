#!/usr/bin/env bash
# run.sh [PATTERN...]: checks the plugin's Lua, and runs its stories in real Neovims
# with a real PostgreSQL: in the oldest version that is promised, and in the
# newest that can be had; with Lua patterns only the stories whose names match one.
# FORKLIFT_UPDATE=1 writes the reference screenshots anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
cd "$top"
say() { echo "nvim: $*" >&2; }

began=$SECONDS
editors=$("$here/neovim.sh" .cache/neovim)
pg=$(testsuite/postgres17.sh .cache/postgresql-17)
say "the editors are there after $((SECONDS - began)) s"

"$editors/luacheck" --no-color -qq --config "$here/../.luacheckrc" "$here/.."

base=/tmp # sockets need short names
[ -d "$base" ] || base=${TMPDIR:?}
work=$(cd "$(mktemp -d "$base/fl.XXXXXX")" && pwd -P)

# left: the processes whose command line or working directory is below $work.
left() {
	local p
	for p in /proc/[0-9]*; do
		case $({ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null || true)$(readlink "$p/cwd" 2>/dev/null || true)/ in
		*"$work/"*) [ "${p##*/}" = $$ ] || echo "${p##*/}" ;;
		esac
	done
}
finish() {
	local pid
	for pid in $(left); do
		kill -INT "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap finish EXIT

mkdir "$work/bin"
"${GO:-go}" build -tags failpoint -o "$work/bin/forklift" ./commands/forklift

# stories NAME: all stories in one version.
stories() {
	local nvim=$editors/$1/bin/nvim home=$work/$1
	mkdir -p "$home"/{data,state,cache,config,run,tmp}
	chmod 700 "$home/run"
	printf '[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n' >"$home/gitconfig"
	say "$("$nvim" --version | head -n 1)"
	cd "$home"
	local status=0
	env HOME="$home" XDG_DATA_HOME="$home/data" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache" \
		XDG_CONFIG_HOME="$home/config" XDG_RUNTIME_DIR="$home/run" TMPDIR="$home/tmp" PATH="$work/bin:$PATH" \
		FORKLIFT_PG_BIN="$pg" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$home/gitconfig" LC_ALL=C.UTF-8 TZ=UTC TERM=xterm-256color \
		FORKLIFT_PLUGINS="$editors/plugins" FORKLIFT_FILTER="${filter:-}" NVIM_APPNAME=nvim \
		timeout 900 "$nvim" --headless --clean -n -u "$here/main.lua" </dev/null || status=$?
	XDG_RUNTIME_DIR="$home/run" XDG_STATE_HOME="$home/state" HOME="$home" "$work/bin/forklift" daemon stop >/dev/null 2>&1 || true
	cd "$top"
	return $status
}

filter=$(IFS='|' && echo "$*")
failed=0
for version in oldest newest; do
	if [ ! -x "$editors/$version/bin/nvim" ]; then
		say "there is no $version Neovim; its stories were not run"
		continue
	fi
	began=$SECONDS
	stories "$version" || failed=1
	say "$version: $((SECONDS - began)) s"
done
for try in 1 2 3 4 5 6 7 8 9 10; do
	[ -z "$(left)" ] && break
	sleep 0.3
done
for pid in $(left); do
	say "a process is left: $pid $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null || true)"
	failed=1
done
exit $failed
