#!/usr/bin/env bash
# pictures.sh [NAME...]: takes the pictures of the README anew. A Neovim runs in tmux, in
# a worktree with a real PostgreSQL; what its terminal shows is written as HTML,
# and chromium makes a PNG of it. It needs tmux and chromium, and is not part of
# the tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
cd "$top"
editors=$("$here/neovim.sh" .cache/neovim)
pg=$(testsuite/postgres17.sh .cache/postgresql-17)
nvim=$editors/newest/bin/nvim
[ -x "$nvim" ] || nvim=$editors/oldest/bin/nvim

base=/tmp # sockets need short names
[ -d "$base" ] || base=${TMPDIR:?}
work=$(cd "$(mktemp -d "$base/fl.XXXXXX")" && pwd -P)
mkdir -p "$work"/{bin,run,shop/src}
chmod 700 "$work/run"
"${GO:-go}" build -o "$work/bin/forklift" ./commands/forklift
export HOME=$work XDG_RUNTIME_DIR=$work/run FORKLIFT_PG_BIN=$pg PATH=$work/bin:$PATH LC_ALL=C.UTF-8 TERM=xterm-256color
cd "$work/shop"
finish() {
	tmux -S "$work/tmux" kill-server 2>/dev/null || true
	forklift db stop >/dev/null 2>&1 || true
	forklift daemon stop >/dev/null 2>&1 || true
	cd /
	rm -rf "$work"
}
trap finish EXIT

# The story: a price list, and a migration that went wrong.
cat >src/prices.py <<'PY'
"""The prices of the shop."""

RATES = {"standard": 19, "reduced": 7}


def gross(net: int, rate: str) -> int:
    """The price with tax, in cents, rounded half up."""
    return (net * (100 + RATES[rate]) + 50) // 100
PY
printf '{"format": 1, "source": ["src"]}\n' >.forklift.json
git init -q -b main .
git -c user.name=t -c user.email=t@example.com add -A
git -c user.name=t -c user.email=t@example.com commit -q -m first
forklift setup --yes >/dev/null
forklift db start >/dev/null
forklift db shell -c "CREATE TABLE orders (id int, net int); INSERT INTO orders SELECT i, i * 10 FROM generate_series(1, 1000) i" >/dev/null
forklift capture empty-cart -m 'fresh seed' >/dev/null
forklift db shell -c "INSERT INTO orders SELECT i, 5 FROM generate_series(1001, 1040) i" >/dev/null
forklift capture before-rounding -m 'all tests pass' >/dev/null
forklift protect before-rounding >/dev/null
sed -i 's/ + 50) \/\/ 100/) \/ 100/; s/rounded half up/unrounded/' src/prices.py
forklift db shell -c "UPDATE orders SET net = net * 100 WHERE id <= 124" >/dev/null

# picture NAME COMMAND: what Neovim shows after a command.
picture() {
	tmux -S "$work/tmux" -f /dev/null new-session -d -x 100 -y 26 "$nvim --clean -n -u $here/minimal.lua --cmd 'set termguicolors number' src/prices.py"
	for _ in $(seq 100); do
		sleep 0.3
		tmux -S "$work/tmux" capture-pane -p | grep -q 'before-rounding · 1 file · 124 rows' && break
	done
	tmux -S "$work/tmux" send-keys ":$2" Enter
	sleep 5
	tmux -S "$work/tmux" capture-pane -e -p >"$work/$1.ansi"
	tmux -S "$work/tmux" kill-server
	"$nvim" --clean -l "$here/picture.lua" "$work/$1.ansi" >"$work/$1.html"
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --window-size=860,512 \
		--screenshot="$top/editors/nvim/doc/$1.png" "file://$work/$1.html" >/dev/null 2>&1
}
for name in "${@:-timeline diff}"; do
	for each in $name; do picture "$each" "Forklift $each"; done
done
ls -l "$top"/editors/nvim/doc/*.png
