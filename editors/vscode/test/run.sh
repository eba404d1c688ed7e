#!/usr/bin/env bash
# run.sh
#
# All tests of the extension: types, licences of what is bundled, the size of
# the package, unit tests, and the stories in a real editor with real
# databases. What they need is installed into .cache at the top of the
# repository. With --without-stories the browser and the editor are neither
# installed nor run. SCREENSHOTS=DIRECTORY keeps the pictures elsewhere than in bin;
# arguments are passed to node --test, such as --test-name-pattern=killed.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$(cd ../.. && pwd)
cache=$top/.cache/code-server

began=$SECONDS
took() {
	echo "editors/vscode/test: $1: $((SECONDS - began)) s"
	began=$SECONDS
}

without=
if [ "${1:-}" = --without-stories ]; then
	without=yes
	shift
fi

if [ -z "$without" ]; then
	FORKLIFT_PG_BIN=$("$top/testsuite/postgres17.sh" "$top/.cache/postgresql-17")
	test/install.sh "$cache"
	export FORKLIFT_PG_BIN PATH=$cache/node/bin:$PATH
	took "installing"
fi

./package.sh
node build.mjs --tests
node --test bin/unit.test.js
if [ -n "$without" ]; then
	took "building and unit tests"
	exit 0
fi
(cd "$top" && go build -tags failpoint -o editors/vscode/bin/forklift ./commands/forklift)
took "building and unit tests"

export FORKLIFT_BINARY=$PWD/bin/forklift FORKLIFT_VSIX=$PWD/bin/forklift.vsix
export CODE_SERVER=$cache/code-server/node_modules/code-server/out/node/entry.js
export SCREENSHOTS=${SCREENSHOTS:-$PWD/bin/screenshots}

# stories: runs those whose names match, or all.
stories() { node --test --test-force-exit --test-concurrency=1 --test-reporter=spec "$@" bin/stories.test.js; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
stories "$@" 2>&1 | tee "$log" || code=$?
took "stories"
if [ $code != 0 ]; then
	# A browser loses a key or a click now and then. A story that failed is told
	# once more by itself, and has to hold then; what failed at first is printed.
	again=()
	while IFS= read -r name; do
		echo "editors/vscode/test: once more: $name" >&2
		again+=("--test-name-pattern=$name")
	done < <(sed -n 's/^  ✖ \(.*\) ([0-9.]*ms)$/\1/p' "$log" | sort -u)
	[ ${#again[@]} -gt 0 ] || exit $code
	code=0
	stories "${again[@]}" || code=$?
	took "stories that failed at first"
fi
exit $code
