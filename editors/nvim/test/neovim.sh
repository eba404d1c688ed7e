#!/usr/bin/env bash
# neovim.sh DIRECTORY
#
# Fills DIRECTORY with what the plugin is tested with, and prints it:
#
#   oldest/bin/nvim   Neovim 0.10, the oldest that is promised (Debian 13)
#   newest/bin/nvim   the newest that Debian has; may be missing, which is said
#   plugins/NAME      mini.test, and plenary, telescope and lualine, which the
#                     plugin works with
#   luacheck          the checker of Lua files
#
# On Debian 12 and 13 packages are unpacked into it, and nothing of the system is
# changed (see testsuite/debian.sh). The programs get the C library of their
# release by patchelf: run through its loader, Neovim could not start itself
# again as a terminal's program. DIRECTORY cannot be moved therefore. Elsewhere
# fill it by hand and set FORKLIFT_NVIM to it.
set -euo pipefail
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/testsuite/debian.sh"

recipe=1 # a new number makes every machine unpack anew

say() { echo "neovim: $*" >&2; }
die() {
	say "$@"
	exit 1
}

[ $# -eq 1 ] || die "usage: neovim.sh DIRECTORY"

# complete DIRECTORY: everything that must be there is.
complete() { [ -x "$1/oldest/bin/nvim" ] && [ -d "$1/plugins/mini.test/lua" ] && [ -x "$1/luacheck" ]; }

if [ -n "${FORKLIFT_NVIM:-}" ]; then
	complete "$FORKLIFT_NVIM" || die "FORKLIFT_NVIM=$FORKLIFT_NVIM lacks oldest/bin/nvim, plugins/mini.test or luacheck"
	echo "$FORKLIFT_NVIM"
	exit 0
fi

mkdir -p "$(dirname "$1")"
dir=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
mark="$recipe $dir"
ready() { [ "$(cat "$dir/recipe" 2>/dev/null)" = "$mark" ] && complete "$dir"; }
finish() {
	echo "$dir"
	exit 0
}
ready && finish

elsewhere="put Neovim 0.10 as oldest/bin/nvim, a newer one as newest/bin/nvim, mini.test as plugins/mini.test and luacheck into a folder, and set FORKLIFT_NVIM to it"
case $(debian_release || true) in
"debian 12" | "debian 13") ;;
*) die "this is not Debian 12 or 13: $elsewhere" ;;
esac
debian_triplet || die "there is no recipe for this processor: $elsewhere"

exec 9>"$dir.lock"
flock -w 600 9 || die "another run has been filling $dir for ten minutes"
ready && finish # by the run we waited for

say "unpacking Debian's Neovim and plugins into $dir (once, about 30 MB)"
rm -rf "$dir"
mkdir -p "$dir/plugins"

# patch TREE PROGRAM: lets a program of the tree use the tree's C library.
patch() {
	local tree=$1 lib=$1/usr/lib/$triplet patcher=$dir/oldest/tree
	"$patcher/usr/lib/$triplet/$loader" --library-path "$patcher/usr/lib/$triplet" "$patcher/usr/bin/patchelf" \
		--set-interpreter "$lib/$loader" --force-rpath --set-rpath "$lib" "$2"
}

# starter NAME VARIABLE=VALUE... PROGRAM: makes NAME a program that runs PROGRAM.
starter() {
	local name=$1
	shift
	mkdir -p "$(dirname "$name")"
	{
		echo '#!/bin/sh'
		while [ $# -gt 1 ]; do
			printf "export %s='%s'\n" "${1%%=*}" "${1#*=}"
			shift
		done
		printf 'exec %s "$@"\n' "$1"
	} >"$name"
	chmod 755 "$name"
}

# editor NAME: makes NAME/bin/nvim of NAME/tree.
editor() {
	local home=$dir/$1 tree=$dir/$1/tree
	# Where libraries are depends on the age of the packages.
	if [ -d "$tree/lib/$triplet" ] && [ ! -L "$tree/lib" ]; then
		cp -a "$tree/lib/$triplet/." "$tree/usr/lib/$triplet/"
	fi
	[ -e "$tree/usr/bin/nvim" ] && patch "$tree" "$tree/usr/bin/nvim" || return 1
	starter "$home/bin/nvim" VIMRUNTIME="$tree/usr/share/nvim/runtime" "$tree/usr/bin/nvim"
	say "$1: $("$home/bin/nvim" --version | head -n 1)"
}

# Both at once: most of the time goes into reading the lists.
mkdir "$dir/oldest" "$dir/newest"
(
	debian_apt forky "$dir/newest/apt"
	debian_unpack "$dir/newest/more" neovim-mini.test neovim-plenary neovim-telescope neovim-lualine
	debian_unpack "$dir/newest/tree" $(debian_needs neovim)
) &
newest=$!
debian_apt trixie "$dir/oldest/apt"
debian_unpack "$dir/oldest/tree" $(debian_needs neovim patchelf lua-check)
editor oldest || die "Neovim 0.10 could not be unpacked: $elsewhere"
tree=$dir/oldest/tree
patch "$tree" "$tree/usr/bin/lua5.1"
starter "$dir/luacheck" LUA_PATH="$tree/usr/share/lua/5.1/?.lua;$tree/usr/share/lua/5.1/?/init.lua" \
	LUA_CPATH="$tree/usr/lib/$triplet/lua/5.1/?.so" "$tree/usr/bin/lua5.1 $tree/usr/bin/luacheck"

wait "$newest" && editor newest || {
	say "the newest Neovim could not be unpacked; the tests run without it"
	rm -rf "$dir/newest/bin"
}
more=$dir/newest/more
for plugin in mini.test plenary telescope lualine; do
	for place in "$more/usr/share/neovim-$plugin" "$more/usr/share/nvim-$plugin"; do
		[ ! -d "$place/lua" ] || mv "$place" "$dir/plugins/$plugin"
	done
done
[ -d "$dir/plugins/mini.test/lua" ] || die "mini.test could not be unpacked: $elsewhere"
rm -rf "$more" "$dir"/{oldest,newest}/apt "$dir"/{oldest,newest}/tree/usr/share/{doc,man,locale,lintian,gconv}
echo "$mark" >"$dir/recipe"
complete "$dir" || die "the unpacked packages lack something; see $dir"
finish
