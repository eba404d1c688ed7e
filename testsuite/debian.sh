# shellcheck shell=bash
# debian.sh: functions for scripts that unpack packages of another Debian
# release beside the system. To be sourced.
#
# Nothing of the system is changed and no root is needed: apt-get runs with
# lists, cache, package state and sources of its own (the mirror and key of the
# system's own sources), packages are unpacked and not installed.

# debian_triplet: sets triplet and loader for this processor; fails elsewhere.
debian_triplet() {
	case $(dpkg --print-architecture) in
	amd64) triplet=x86_64-linux-gnu loader=ld-linux-x86-64.so.2 ;;
	arm64) triplet=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 ;;
	*) return 1 ;;
	esac
}

# debian_release: "debian 12" or whatever this system calls itself.
debian_release() { [ -r /etc/os-release ] && (. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}"); }

# debian_sources SUITE: an apt source list for the suite, from the first entry
# of the system's own sources; fails when there is none.
debian_sources() {
	local suite=$1 file uri='' key=''
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -r "$file" ] || continue
		# The first stanza that offers Debian's main archive.
		uri=$(awk 'BEGIN{RS=""} /(^|\n)Suites:[^\n]*(bookworm|trixie|stable)( |\n)/ && /(^|\n)Components:[^\n]*main/' "$file" |
			sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' | head -n 1)
		key=$(sed -n 's/^Signed-By:[[:space:]]*\(\/[^[:space:]]*\).*/\1/p' "$file" | head -n 1)
		[ -n "$uri" ] && break
	done
	if [ -z "$uri" ] && [ -r /etc/apt/sources.list ]; then
		uri=$(sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) \(bookworm\|trixie\|stable\) .*/\2/p' /etc/apt/sources.list | head -n 1)
	fi
	[ -n "$uri" ] || {
		echo "no Debian mirror in the sources of apt" >&2
		return 1
	}
	printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$uri" "$suite" \
		"${key:-/usr/share/keyrings/debian-archive-keyring.gpg}"
}

# debian_apt SUITE DIRECTORY: makes a private state of apt in DIRECTORY, which
# is absolute, reads the suite's lists into it, and sets the array apt_options.
# No package counts as installed in it.
debian_apt() {
	local suite=$1 dir=$2
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/parts" || return 1
	: >"$dir/status"
	debian_sources "$suite" >"$dir/parts/$suite.sources" || return 1
	apt_options=(
		-o Dir::State="$dir" -o Dir::State::status="$dir/status" -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache"
		-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/parts" -o Dir::Etc::preferences=/dev/null
		-o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Acquire::Languages=none
	)
	apt-get "${apt_options[@]}" update -qq >&2
}

# debian_needs PACKAGE...: the packages and everything that they depend on, of
# the state that debian_apt made.
debian_needs() {
	apt-cache "${apt_options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$@" |
		sed -n 's/^\([a-z0-9][^ :]*\)\(:[a-z0-9]*\)\{0,1\}$/\1/p' | sort -u
}

# debian_unpack TREE PACKAGE...: downloads the packages and unpacks them into
# TREE.
debian_unpack() {
	local tree=$1 debs deb
	shift
	debs=$(mktemp -d "$tree.debs.XXXXXX") && mkdir -p "$tree" || return 1
	(cd "$debs" && apt-get "${apt_options[@]}" download -qq "$@" >&2) || return 1
	for deb in "$debs"/*.deb; do
		dpkg -x "$deb" "$tree" || return 1
	done
	rm -rf "$debs"
}
