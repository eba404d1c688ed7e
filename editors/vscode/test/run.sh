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
# An extension that uses the API of ours.
(cd test/probe && npx vsce package --no-dependencies --allow-missing-repository --skip-license --out ../../bin/probe.vsix >/dev/null)
(cd "$top" && go build -tags failpoint -o editors/vscode/bin/forklift ./commands/forklift)
took "building and unit tests"

export FORKLIFT_BINARY=$PWD/bin/forklift FORKLIFT_VSIX="$PWD/bin/forklift.vsix $PWD/bin/probe.vsix"
export CODE_SERVER=$cache/code-server/node_modules/code-server/out/node/entry.js
export SCREENSHOTS=${SCREENSHOTS:-$PWD/bin/screenshots} STORY_FAILURES=$PWD/bin/failures.txt
rm -f "$STORY_FAILURES"

code=0
node --enable-source-maps --test --test-force-exit --test-concurrency=1 --test-reporter=spec "$@" bin/stories.test.js || code=$?
took "stories"
# Once more in the end, in short.
[ $code = 0 ] || [ ! -s "$STORY_FAILURES" ] || cat "$STORY_FAILURES"
exit $code
