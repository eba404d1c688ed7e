#!/usr/bin/env bash
# shells.sh DIRECTORY
#
# Prints a folder with zsh, fish and direnv, which the tests of completion and
# of `forklift env` use. Messages go to stderr. Where the system has all three
# it is a folder of links to them; else, on Debian 12 and 13, the packages of the
# system's own release are unpacked into DIRECTORY, which needs no root and
# changes nothing of the system (see debian.sh). Several runs at once wait for
# each other.
set -euo pipefail
. "$(dirname "$0")/debian.sh"

recipe=1 # a new number makes every machine unpack anew
programs=(zsh fish direnv)

say() { echo "shells: $*" >&2; }
die() {
	say "$@"
	exit 1
}

[ $# -eq 1 ] || die "usage: shells.sh DIRECTORY"
mkdir -p "$(dirname "$1")"
dir=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

ready() { [ "$(cat "$dir/recipe" 2>/dev/null)" = "$recipe" ]; }
finish() {
	echo "$dir/bin"
	exit 0
}
ready && finish

exec 9>"$dir.lock"
flock -w 600 9 || die "another run has been filling $dir for ten minutes"
ready && finish # by the run we waited for

rm -rf "$dir".new.*
temp=$(mktemp -d "$dir.new.XXXXXX")
chmod 755 "$temp"
trap 'rm -rf "$temp"' EXIT
mkdir -p "$temp/tree/bin"
if command -v "${programs[@]}" >/dev/null && [ "$(command -v "${programs[@]}" | wc -l)" = ${#programs[@]} ]; then
	for program in "${programs[@]}"; do
		ln -s "$(command -v "$program")" "$temp/tree/bin/$program"
	done
else
	elsewhere="install zsh, fish and direnv"
	id=$(debian_release) || die "this is not Debian: $elsewhere"
	case $id in
	"debian 12") suite=bookworm ;;
	"debian 13") suite=trixie ;;
	*) die "this is '$id', and the packages are Debian 12's and 13's: $elsewhere" ;;
	esac
	debian_triplet || die "there is no recipe for this processor: $elsewhere"
	say "unpacking Debian's zsh, fish and direnv into $dir (once, about 11 MB)"
	debian_apt "$suite" "$temp/apt"
	debian_unpack "$temp/tree" zsh zsh-common fish fish-common direnv libpcre2-32-0
	rm -rf "$temp"/tree/usr/share/{doc,man,locale,lintian,info}
	mkdir -p "$temp/tree/usr/etc/fish" # fish takes the data beside it only when this is there
	zsh=$temp/tree/bin/zsh
	[ -e "$zsh" ] || zsh=$temp/tree/usr/bin/zsh
	mv "$zsh" "$temp/tree/usr/bin/zsh.real"
	for program in "${programs[@]}"; do
		real=$program
		[ "$program" != zsh ] || real=zsh.real
		cat >"$temp/tree/bin/$program" <<STARTER
#!/bin/sh
d=\$(cd "\${0%/*}/.." && pwd)
export LD_LIBRARY_PATH="\$d/usr/lib/$triplet\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
exec "\$d/usr/bin/$real" "\$@"
STARTER
		chmod 755 "$temp/tree/bin/$program"
	done
fi
for program in "${programs[@]}"; do
	"$temp/tree/bin/$program" --version >/dev/null || die "$program does not run"
done
echo "$recipe" >"$temp/tree/recipe"
rm -rf "$dir"
mv "$temp/tree" "$dir"
finish
