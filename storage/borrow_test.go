package storage

import (
	"fmt"
	"testing"
)

// What is near and right is taken from there; what is near and wrong, of
// another kind, shorter or missing never is.
func TestPatchTakesWhatIsNear(t *testing.T) {
	meddle := map[string]func(l *lab){
		"the same":                               func(*lab) {},
		"other pages":                            func(l *lab) { l.poke("near/d1/f10", 5*PageBytes+1, []byte("!")); l.poke("near/d0/f3", 0, []byte("!")) },
		"a shorter file":                         func(l *lab) { l.write("near/d1/f10", l.read("near/d1/f10")[:spanBytes/2+7]) },
		"no file":                                func(l *lab) { l.ok(l.fs.Remove(l.path("near/d1/f10"))) },
		"a link":                                 func(l *lab) { l.ok(l.fs.Remove(l.path("near/d0/f6"))); l.ok(l.fs.Symlink("f3", l.path("near/d0/f6"))) },
		"a directory":                            func(l *lab) { l.ok(l.fs.Remove(l.path("near/d0/f6"))); l.mkdir("near/d0/f6") },
		"nothing":                                func(l *lab) { l.ok(removeAll(l.fs, l.path("near"))); l.mkdir("near") },
		"a file that is in use for other things": func(l *lab) { l.write("near/d1/f10", make([]byte, 3*spanBytes)) },
	}
	labs(t, func(t *testing.T, l *lab) {
		base := patchLab(t, l, seeded(t))
		want := l.tree("tree")
		l.mkdir("near")
		for how, do := range meddle {
			l.patch("near", base.Manifest, PatchOptions{})
			do(l)
			l.ok(removeAll(l.fs, l.path("slot")))
			l.mkdir("slot")
			near := l.root("near")
			stats := l.patch("slot", base.Manifest, PatchOptions{Near: near, Verify: 1})
			l.ok(near.Close())
			same(t, how, l.tree("slot"), want)
			switch whole := stats.WrittenBytes; {
			case how == "the same" && stats.NearBytes != whole, how == "nothing" && stats.NearBytes != 0,
				how == "other pages" && stats.NearBytes != whole-2*PageBytes:
				t.Errorf("%s: %d of %d bytes were taken from near", how, stats.NearBytes, whole)
			}
		}
	})
}

// Of a file that is there, only the pages that differ are looked for near.
func TestPatchLooksNearForWhatDiffers(t *testing.T) {
	l := newMemLab(t)
	base := patchLab(t, l, seeded(t))
	l.poke("slot/d1/f10", 100_000, []byte("changed"))
	changed := l.capture("slot", Rules{Unit: Pages}, nil)
	for _, have := range []ID{{}, changed.Manifest} {
		l.patch("slot", changed.Manifest, PatchOptions{})
		near := l.root("tree")
		stats := l.patch("slot", base.Manifest, PatchOptions{Have: have, Near: near})
		l.ok(near.Close())
		same(t, fmt.Sprint(have), l.tree("slot"), l.tree("tree"))
		if stats.NearBytes != PageBytes || stats.WrittenBytes != PageBytes {
			t.Errorf("%+v", stats)
		}
	}
}
