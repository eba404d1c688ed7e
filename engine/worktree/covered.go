package worktree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forklift/storage"
)

// Covered lists the paths that a restore of target may write or remove and
// that the present state's manifest does not hold: what the safety pair must
// save, or record as absent, beside the selection. It is what goes into
// RuleOptions.Extra of that scan and into storage.SourceState.Covered of its
// pair. A directory ends in "/"; a path that is not UTF-8 is quoted.
//
// A path that merely happens to be absent is listed too: whether the present
// rules would select it cannot always be known (git answers only for files
// that exist), and undo must remove what the restore created.
func Covered(ctx context.Context, store Store, present storage.ID, target storage.SourceState) ([]string, error) {
	saved := map[string]storage.EntryType{}
	var list []string
	for pair, err := range both(ctx, store, present, target.Manifest) {
		if err != nil {
			return nil, fmt.Errorf("compare with checkpoint: %w", err)
		}
		now, then := pair[0], pair[1]
		if now != nil {
			saved[now.Path] = now.Type
		}
		if then == nil || then.Type == storage.Omitted || then.Path == "." {
			continue
		}
		if now != nil && now.Type != storage.Omitted && !widens(now, then) {
			continue
		}
		list = append(list, coveredPath(then.Path, then.Type == storage.Directory))
	}
	for _, quoted := range target.Covered {
		p, err := UnquotePath(quoted)
		if err != nil {
			return nil, fmt.Errorf("compare with checkpoint: %w", err)
		}
		if t, ok := saved[strings.TrimSuffix(p, "/")]; !ok || t == storage.Omitted {
			list = append(list, quoted)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// widens reports that saving what is there now needs more than the entry that
// the manifest has: a directory that only leads to a source, perhaps. When a
// file takes its place all that is in it must be saved; when its mode changes
// undo must know that the restore was allowed to change it.
func widens(now, then *storage.Entry) bool {
	return now.Type == storage.Directory && (then.Type != storage.Directory || then.Mode != now.Mode)
}

// coveredPath is a path in the form of storage.SourceState.Covered.
func coveredPath(p string, dir bool) string {
	if dir {
		p += "/"
	}
	return QuotePath(p)
}
