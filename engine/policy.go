package engine

import (
	"fmt"
	"slices"
	"time"

	"forklift/storage"
)

// KeepPolicy says which checkpoints a forget leaves, as restic's does: of
// each hour, day, week or month that has any, the last one, for so many of
// those. A checkpoint stays if any of the rules keeps it.
type KeepPolicy struct {
	Last    int           `json:"last,omitempty"`
	Hourly  int           `json:"hourly,omitempty"`
	Daily   int           `json:"daily,omitempty"`
	Weekly  int           `json:"weekly,omitempty"`
	Monthly int           `json:"monthly,omitempty"`
	Within  time.Duration `json:"within,omitempty"` // before the newest checkpoint
}

// Empty says that there is no rule, so that nothing would be kept.
func (k KeepPolicy) Empty() bool { return k == KeepPolicy{} }

// bucket is a rule that keeps the last of each period.
type bucket struct {
	left int
	why  string
	of   func(time.Time) string
	last string
}

// reasons tells why each of the pairs stays, those of one worktree, newest
// first: "" in no list means that it goes.
func (k KeepPolicy) reasons(pairs []*storage.Pair, zone *time.Location) [][]string {
	buckets := []*bucket{
		{left: k.Hourly, why: "hourly", of: func(t time.Time) string { return t.Format("2006-01-02 15") }},
		{left: k.Daily, why: "daily", of: func(t time.Time) string { return t.Format(time.DateOnly) }},
		{left: k.Weekly, why: "weekly", of: func(t time.Time) string {
			year, week := t.ISOWeek()
			return fmt.Sprintf("%d-%d", year, week)
		}},
		{left: k.Monthly, why: "monthly", of: func(t time.Time) string { return t.Format("2006-01") }},
	}
	kept := make([][]string, len(pairs))
	for i, p := range pairs {
		if i < k.Last {
			kept[i] = append(kept[i], "last")
		}
		if k.Within > 0 && p.Created.After(pairs[0].Created.Add(-k.Within)) {
			kept[i] = append(kept[i], "within "+k.Within.String())
		}
		at := p.Created.In(zone)
		for _, b := range buckets {
			if name := b.of(at); b.left > 0 && name != b.last {
				b.left--
				b.last = name
				kept[i] = append(kept[i], b.why)
			}
		}
	}
	return kept
}

// What is kept of safety checkpoints: those among the last so many of their
// worktree, and those that are younger.
const (
	safetyKeepLast = 50
	safetyKeepAge  = 30 * 24 * time.Hour
)

// expired gives those of a worktree's safety checkpoints that nobody will
// miss, oldest first.
func expired(pairs []*storage.Pair, now time.Time) []*storage.Pair {
	newest := slices.Clone(pairs)
	slices.SortFunc(newest, func(a, b *storage.Pair) int { return b.Created.Compare(a.Created) })
	var old []*storage.Pair
	for i, p := range newest {
		if i >= safetyKeepLast && now.Sub(p.Created) > safetyKeepAge && !p.Protected {
			old = append(old, p)
		}
	}
	slices.Reverse(old)
	return old
}
