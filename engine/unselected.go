package engine

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/engine/worktree"
)

// unselected names where a restore changes what is not selected now: of each
// changed path that is at or below no selected source, the source of the
// checkpoint that holds it, or what is at the top of a checkpoint of everything.
// Quoted as worktree.QuotePath does, in order.
func unselected(changed iter.Seq[string], sources, selected []string) []string {
	found := make(map[string]bool)
	for p := range changed {
		chosen := func(source string) bool { return config.Within(p, source) || config.Within(source, p) }
		if slices.ContainsFunc(selected, chosen) {
			continue
		}
		name, _, _ := strings.Cut(p, "/")
		for _, source := range sources {
			if source != "." && config.Within(p, source) && len(source) > len(name) {
				name = source
			}
		}
		found[worktree.QuotePath(name)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// previewed are the paths that a plan changes.
func previewed(steps []worktree.PreviewStep) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range steps {
			// What quotes cannot be read back from was not quoted by us.
			p, err := worktree.UnquotePath(strings.TrimSuffix(s.Path, "/"))
			if err == nil && !yield(p) {
				return
			}
		}
	}
}
