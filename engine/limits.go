package engine

import (
	"fmt"

	"forklift/storage/fault"
)

// warnShare is the share of a limit at which status begins to warn.
const warnShare = 0.8

// checkLimits refuses a capture while the store is at the limits that
// forklift.toml sets.
func (w *Worktree) checkLimits(op string) error {
	largest, floor := w.machine.Limits.Bytes()
	if largest > 0 {
		if has := w.store.Totals().Bytes; has >= largest {
			return &fault.Error{Op: op, Path: w.store.Dir(), Kind: fault.NoSpace,
				Err:  fmt.Errorf("the store has %s, and its limit is %s", megabytes(has), w.machine.Limits.StoreSize),
				Hint: "Run `forklift forget` and `forklift prune`, or raise store_size in forklift.toml; nothing was changed."}
		}
	}
	if floor > 0 {
		space, err := w.fs.Space(w.store.Dir())
		if err != nil {
			return fault.Wrap("look at free space", w.store.Dir(), err)
		}
		if space.FreeBytes < floor {
			return &fault.Error{Op: op, Path: w.store.Dir(), Kind: fault.NoSpace,
				Err:  fmt.Errorf("%s are free on the store's file system, and %s must stay free", megabytes(space.FreeBytes), w.machine.Limits.FreeSpace),
				Hint: "Make room there, run `forklift forget` and `forklift prune`, or lower free_space in forklift.toml; nothing was changed."}
		}
	}
	return nil
}

// limitWarnings tells ahead what checkLimits is going to refuse.
func (w *Worktree) limitWarnings() []string {
	largest, floor := w.machine.Limits.Bytes()
	var list []string
	if has := w.store.Totals().Bytes; largest > 0 && float64(has) >= warnShare*float64(largest) {
		list = append(list, fmt.Sprintf("the store has %s of %s; at the limit captures are refused. Run `forklift forget` and `forklift prune`.",
			megabytes(has), w.machine.Limits.StoreSize))
	}
	if space, err := w.fs.Space(w.store.Dir()); err == nil && floor > 0 && warnShare*float64(space.FreeBytes) <= float64(floor) {
		list = append(list, fmt.Sprintf("%s are free on the store's file system; below %s captures are refused. Make room there.",
			megabytes(space.FreeBytes), w.machine.Limits.FreeSpace))
	}
	return list
}

// megabytes is a size for a message.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
