package storage

import (
	"fmt"
	"testing"
)

func TestUsage(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	put := func(id PairID, dirs ...string) *Pair {
		p := &Pair{ID: id, Kind: Capture, Project: "p"}
		for _, dir := range dirs {
			p.Databases = append(p.Databases, DatabaseState{State: StateClean, Trees: []TreeState{{Manifest: l.capture(dir, Rules{Unit: Pages}, nil).Manifest}}})
		}
		l.ok(l.s.PutPair(t.Context(), p))
		return p
	}
	// One megabyte of noise that both have, and one that each has alone.
	both := noise(r, 1<<20)
	for _, dir := range []string{"one", "two"} {
		l.write(dir+"/both", both)
		l.write(dir+"/copy", both)
		l.write(dir+"/own", noise(r, 1<<20))
	}
	one, two := put(firstPair, "one"), put(secondPair, "two")
	near := func(what string, got, want int64) {
		t.Helper()
		if got < want || got > want+want/16+10_000 {
			t.Errorf("%s: %d bytes, not %d", what, got, want)
		}
	}
	u, err := l.s.Usage(t.Context(), []*Pair{one, two})
	l.ok(err)
	for _, id := range []PairID{firstPair, secondPair} {
		near("own", u[id].OwnBytes, 1<<20)
		near("shared", u[id].SharedBytes, 1<<20)
	}
	u, err = l.s.Usage(t.Context(), []*Pair{one})
	l.ok(err)
	near("alone", u[firstPair].OwnBytes, 2<<20)
	want(t, "alone shared", fmt.Sprint(u[firstPair].SharedBytes), "0")
	if _, err := l.s.Usage(t.Context(), []*Pair{{ID: laterPair, Source: SourceState{Manifest: ID{1}}}}); err == nil {
		t.Error("a pair without data was measured")
	}
}
