#!/usr/bin/env bash
# package.sh
#
# Checks the extension's types and builds bin/forklift.vsix. It needs Node 20
# or newer with npm, and installs the packages of package-lock.json.
set -euo pipefail
cd "$(dirname "$0")"
most=$((300 * 1024)) # bytes of the package

command -v npm >/dev/null || {
	echo "editors/vscode: npm is missing; install Node 20 or newer" >&2
	exit 1
}
# npm ci removes and installs all; only a changed lock file needs it.
lock=$(cksum <package-lock.json)
if [ "$(cat node_modules/.lock 2>/dev/null)" != "$lock" ]; then
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	echo "$lock" >node_modules/.lock
fi
npx tsc
rm -f bin/extension.js bin/forklift.vsix
node build.mjs
npx vsce package --no-dependencies --allow-missing-repository --no-rewrite-relative-links --out bin/forklift.vsix >/dev/null
size=$(wc -c <bin/forklift.vsix)
echo "editors/vscode: bin/forklift.vsix has $size bytes"
[ "$size" -le "$most" ] || {
	echo "editors/vscode: that is more than $most" >&2
	exit 1
}
