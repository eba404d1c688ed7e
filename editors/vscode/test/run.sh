#!/usr/bin/env bash
# run.sh
#
# All tests of the extension: types, licences of what is bundled, unit tests,
# the package and its size, and the stories in a real editor with real
# databases. What they need is installed into .cache at the top of the
# repository. SCREENSHOTS=DIRECTORY keeps the pictures; arguments are passed to
# node --test, such as --test-name-pattern=killed.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$(cd ../.. && pwd)
cache=$top/.cache/code-server
most=$((300 * 1024)) # bytes of the package

say() { echo "editors/vscode/test: $*"; }
took() { say "$1: $((SECONDS - began)) s"; began=$SECONDS; }
began=$SECONDS

FORKLIFT_PG_BIN=$("$top/testsuite/postgres17.sh" "$top/.cache/postgresql-17")
test/install.sh "$cache"
export FORKLIFT_PG_BIN PATH=$cache/node/bin:$PATH
# npm ci removes and installs all; only a changed lock file needs it.
lock=$(cksum <package-lock.json)
if [ "$(cat node_modules/.lock 2>/dev/null)" != "$lock" ]; then
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	echo "$lock" >node_modules/.lock
fi
took "installing"

npx tsc
rm -rf bin
node build.mjs
node build.mjs --tests
node --test bin/unit.test.js
npx vsce package --no-dependencies --allow-missing-repository --no-rewrite-relative-links --out bin/forklift.vsix >/dev/null
size=$(wc -c <bin/forklift.vsix)
say "figure: the package has $size bytes"
[ "$size" -le "$most" ] || {
	say "the package is larger than $most bytes"
	exit 1
}
(cd "$top" && go build -tags failpoint -o editors/vscode/bin/forklift ./commands/forklift)
took "checking and building"

export FORKLIFT_BINARY=$PWD/bin/forklift FORKLIFT_VSIX=$PWD/bin/forklift.vsix
export CODE_SERVER=$cache/code-server/node_modules/code-server/out/node/entry.js
export SCREENSHOTS=${SCREENSHOTS:-$PWD/bin/screenshots}
code=0
node --test --test-force-exit --test-concurrency=1 --test-reporter=spec "$@" bin/stories.test.js || code=$?
took "stories"
exit $code
