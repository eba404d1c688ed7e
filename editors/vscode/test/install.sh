#!/usr/bin/env bash
# install.sh DIRECTORY
#
# Puts what the stories need into DIRECTORY, once: Node 24 and code-server,
# which is VS Code with a window for browsers, both from npm. With chromium
# from Debian they take three minutes and about 900 MB. DIRECTORY appears by
# one rename when it is complete; several runs at once wait for each other.
#
# code-server is installed without its scripts, which compile things that the
# stories do not use; the three native parts that matter are compiled after.
set -euo pipefail

recipe=1 # a new number makes every machine install anew
node=24.22.3
server=4.139.1
packages=(chromium fonts-dejavu-core build-essential pkg-config python3 libkrb5-dev libsecret-1-dev libx11-dev libxkbfile-dev)

say() { echo "editors/vscode/test: $*" >&2; }
die() {
	say "$@"
	exit 1
}

[ $# -eq 1 ] || die "usage: install.sh DIRECTORY"
mkdir -p "$(dirname "$1")"
dir=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

# system: what the system's package manager must give.
system() {
	local lack=() program
	for program in chromium make g++ python3 pkg-config; do
		command -v "$program" >/dev/null || lack+=("$program")
	done
	[ ${#lack[@]} -gt 0 ] || return 0
	if [ -r /etc/debian_version ] && [ "$(id -u)" = 0 ]; then
		say "installing Debian's ${packages[*]}"
		local log
		log=$(mktemp)
		if ! { apt-get -o Acquire::Retries=3 update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1 </dev/null; then
			tail -n 40 "$log" >&2
			die "apt-get failed"
		fi
		rm -f "$log"
		return 0
	fi
	die "these programs are missing: ${lack[*]}. On Debian: apt-get install ${packages[*]} (as root). Elsewhere: chromium, and a compiler for C++ with make, pkg-config and Python."
}

platform() {
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) echo linux-x64 ;;
	Linux-aarch64) echo linux-arm64 ;;
	Darwin-arm64) echo darwin-arm64 ;;
	*) die "npm has no Node for this machine, $(uname -sm)" ;;
	esac
}

ready() { [ "$(cat "$dir/recipe" 2>/dev/null)" = "$recipe" ]; }

command -v npm >/dev/null || die "npm is missing; install Node 20 or newer"
system
ready && exit 0
exec 9>"$dir.lock"
command -v flock >/dev/null && { flock -w 900 9 || die "another run has been filling $dir for a quarter of an hour"; }
ready && exit 0 # by the run we waited for

say "installing Node $node and code-server $server into $dir (once, about two minutes)"
rm -rf "$dir".new.*
temp=$(mktemp -d "$dir.new.XXXXXX")
trap 'rm -rf "$temp"' EXIT
install=(npm install --no-audit --no-fund --no-save --ignore-scripts --loglevel=error)

(cd "$temp" && echo '{"private": true}' >package.json && "${install[@]}" "node-$(platform)@$node" >&2)
ln -s "node_modules/node-$(platform)" "$temp/node"
export PATH=$temp/node/bin:$PATH npm_config_nodedir=$temp/node
[ "$(node --version)" = "v$node" ] || die "Node $node does not run here"

mkdir "$temp/code-server"
(
	cd "$temp/code-server"
	echo '{"private": true}' >package.json
	"${install[@]}" "code-server@$server" >&2
	cd node_modules/code-server/lib/vscode
	"${install[@]}" --omit=dev >&2
	(cd extensions && "${install[@]}" --omit=dev >&2)
	npm rebuild --loglevel=error @vscode/spdlog node-pty @vscode/native-watchdog >&2
)
echo "$recipe" >"$temp/recipe"
rm -rf "$dir"
mv "$temp" "$dir"
