#!/usr/bin/env bash
# fuzz.sh DURATION: runs each fuzz target of the module for DURATION.
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:?usage: fuzz.sh DURATION}
grep -rlE --include='*_test.go' '^func Fuzz[A-Z]' --exclude-dir=.cache . | xargs -n 1 dirname | sort -u | while read -r dir; do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //'); do
		echo "== $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" "$dir"
	done
done
