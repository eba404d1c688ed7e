package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/internal/pack"
)

// someEntries has an entry of every form.
func someEntries() []Entry {
	return []Entry{
		{Path: ".", Type: Directory, Mode: 0o755},
		{Path: "a", Type: Directory, Mode: 0o700},
		{Path: "a/b", Type: Regular, Mode: 0o644, Size: 10, Content: Content{Chunks, 0, ID{1}}},
		{Path: "a/c", Type: Regular, Mode: 0o600, Content: Content{Unit: Pages}},
		{Path: "a/link", Type: Symlink, Mode: 0o777, Target: "../x"},
		{Path: "a-b", Type: Regular, Mode: 0o600, Size: 1 << 40, Mtime: -5, Sparse: true, Content: Content{Pages, 5, ID{2}},
			Xattrs: []EntryXattr{{"user.a", nil}, {"user.b", []byte{0, 1}}}},
		{Path: "o", Type: Omitted, Reason: "socket"},
		{Path: "\xff\n", Type: Directory, Mode: 0},
	}
}

func TestRunComesBack(t *testing.T) {
	entries := someEntries()
	got, err := decodeRun(encodeRun(entries))
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		if !equalEntries(&got[i], &entries[i]) || got[i].Path != entries[i].Path {
			t.Errorf("%+v becomes %+v", entries[i], got[i])
		}
	}
	level, children, err := decodeBranch(encodeBranch(3, []child{{"a", 5, ID{1}}, {"a/b", 1, ID{2}}}))
	if err != nil || level != 3 || len(children) != 2 || children[1] != (child{"a/b", 1, ID{2}}) {
		t.Error(level, children, err)
	}
}

// A run without special bits is as it always was; one with them has a version
// that a Forklift which does not know them refuses as newer.
func TestSpecialModesHaveAVersionOfTheirOwn(t *testing.T) {
	plain := []Entry{{Path: "a", Type: Directory, Mode: 0o777}}
	special := []Entry{{Path: "a", Type: Directory, Mode: 0o2775}, {Path: "a/b", Type: Regular, Mode: 0o4755, Content: Content{Unit: Pages}}}
	if want := []byte{'R', 1, 1, 0, 1, 'a', 1, 0xff, 0x03}; !slices.Equal(encodeRun(plain), want) {
		t.Errorf("the run is % x, not % x", encodeRun(plain), want)
	}
	run := encodeRun(special)
	got, err := decodeRun(run)
	if err != nil || run[1] != 2 || got[0].Mode != 0o2775 || got[1].Mode != 0o4755 {
		t.Errorf("% x became %+v, %v", run, got, err)
	}
	for i, other := range [][]byte{encodeRun(plain), run} {
		other[1] = byte(2 - i)
		if _, err := decodeRun(other); err == nil {
			t.Errorf("read % x", other)
		}
	}
	run[1] = 3
	_, err = decodeRun(run)
	if fault.KindOf(badNode(ID{}, err)) != fault.Unsupported {
		t.Errorf("a run of version 3 is %v", err)
	}
}

func TestRunsThatAreRefused(t *testing.T) {
	file := func(path string) Entry {
		return Entry{Path: path, Type: Regular, Mode: 0o600, Content: Content{Unit: Pages}}
	}
	for what, entries := range map[string][]Entry{
		"order":       {file("b"), file("a")},
		"twice":       {file("a"), file("a")},
		"slash order": {file("a-b"), file("a/b")},
		"dot dot":     {file("a/../b")},
		"dot":         {file("a/./b")},
		"absolute":    {file("/a")},
		"empty":       {file("")},
		"empty end":   {file("a/")},
		"zero byte":   {file("a\x00b")},
		"long":        {file(strings.Repeat("a", MaxPathBytes+1))},
		"top file":    {file(".")},
		"mode":        {{Path: "a", Type: Directory, Mode: 0o14755}},
		"link mode":   {{Path: "a", Type: Symlink, Mode: 0o1777, Target: "x"}},
		"type":        {{Path: "a", Type: 7}},
		"no type":     {{Path: "a"}},
		"link":        {{Path: "a", Type: Symlink, Mode: 0o777}},
		"unit":        {{Path: "a", Type: Regular, Content: Content{Unit: 3}}},
		"no root":     {{Path: "a", Type: Regular, Size: 5, Content: Content{Unit: Pages}}},
		"depth":       {{Path: "a", Type: Regular, Size: 5, Content: Content{Pages, 9, ID{1}}}},
		"page":        {{Path: "a", Type: Regular, Size: 8193, Content: Content{Pages, 0, ID{1}}}},
		"xattrs":      {{Path: "a", Type: Regular, Content: Content{Unit: Pages}, Xattrs: []EntryXattr{{"b", nil}, {"a", nil}}}},
		"many":        slices.Repeat([]Entry{file("a")}, maxRunEntries+1),
	} {
		if _, err := decodeRun(encodeRun(entries)); err == nil {
			t.Errorf("%s: read", what)
		}
	}
	whole := encodeRun(someEntries())
	for n := range whole {
		if _, err := decodeRun(whole[:n]); err == nil {
			t.Errorf("read what ends at %d", n)
		}
	}
	if _, err := decodeRun(append(whole, 0)); err == nil {
		t.Error("read what has more at its end")
	}
}

func TestComparePaths(t *testing.T) {
	order := []string{".", "\x01", "-", "a", "a/\xff", "a/b/c", "a\x01", "a-", "a.b", "b", "\xff"}
	// '/' is below everything, so what is in a directory follows it.
	want := []string{".", "\x01", "-", "a", "a/b/c", "a/\xff", "a\x01", "a-", "a.b", "b", "\xff"}
	slices.SortFunc(order, comparePaths)
	if !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
	for i, a := range want {
		for k, b := range want {
			if c := comparePaths(a, b); (c < 0) != (i < k) || (c == 0) != (i == k) {
				t.Errorf("%q against %q: %d", a, b, c)
			}
		}
	}
}

// nodeStore keeps nodes in memory.
type nodeStore map[ID][]byte

func (n nodeStore) put(node []byte) (ID, error) {
	id := pack.Sum(node)
	n[id] = slices.Clone(node)
	return id, nil
}

// The same blobs give the same nodes whether they come one by one or in
// spans, and the reference has the lowest depth that holds them.
func TestContentIsCanonical(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64, 65, 64 * 64, 64*64 + 1, 64*64 + 64, 64*64*64 + 1} {
		refs := make([]contentRef, n)
		for i := range refs {
			refs[i] = contentRef{pack.Sum(fmt.Append(nil, i)), PageBytes}
		}
		nodes := nodeStore{}
		one := contentBuilder{unit: Pages, put: nodes.put}
		for _, r := range refs {
			_ = one.add(0, r)
		}
		a, _ := one.finish()
		spans := contentBuilder{unit: Pages, put: nodes.put}
		if n < 2 {
			for _, r := range refs {
				_ = spans.add(0, r)
			}
		} else {
			for span := range slices.Chunk(refs, contentFanOut) {
				id, _ := nodes.put(encodeContent(Pages, 1, span))
				_ = spans.add(1, contentRef{id, int64(len(span)) * PageBytes})
			}
		}
		b, _ := spans.finish()
		depth := 0
		for k := n; k > 1; k = (k + contentFanOut - 1) / contentFanOut {
			depth++
		}
		if a != b || int(a.Depth) != depth {
			t.Errorf("%d pages: %v and %v, not depth %d", n, a, b, depth)
		}
		if size := int64(n) * PageBytes; n > 1 {
			if _, err := decodeContent(nodes[a.Root], Pages, a.Depth, size); err != nil {
				t.Errorf("%d pages: %v", n, err)
			}
			for _, wrong := range []int64{size - PageBytes, size + 1, 0} {
				// Higher nodes only tell to about a child; those below tell the rest.
				if _, err := decodeContent(nodes[a.Root], Pages, a.Depth, wrong); err == nil && a.Depth == 1 {
					t.Errorf("%d pages stand for %d bytes", n, wrong)
				}
			}
		}
	}
}

// Differences are found wherever they are, and equal nodes are not read.
func TestPageLeavesFindsDifferences(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	for _, n := range []int{1, 2, 64, 65, 200, 5000} {
		for _, m := range []int{n, 1, 64, 70, 5000} {
			old := noise(r, n*PageBytes-r.IntN(PageBytes))
			cur := slices.Clone(old[:min(len(old), m*PageBytes)])
			if m*PageBytes > len(cur) {
				cur = append(cur, noise(r, m*PageBytes-len(cur))...)
			}
			for range r.IntN(4) {
				cur[r.IntN(len(cur))] ^= 1
			}
			w, err := l.s.NewWriter(t.Context())
			l.ok(err)
			a, aSize, err := w.Content(t.Context(), bytes.NewReader(old), Pages)
			l.ok(err)
			b, bSize, err := w.Content(t.Context(), bytes.NewReader(cur), Pages)
			l.ok(err)
			l.ok(w.Commit(t.Context()))
			w.Abort()
			var got []int64
			l.ok(l.s.pageLeaves(b, bSize, a, aSize, func(l leaf) error { got = append(got, l.off); return nil }))
			var want []int64
			for off := 0; off < len(cur); off += PageBytes {
				page := cur[off:min(off+PageBytes, len(cur))]
				if off >= len(old) || !bytes.Equal(page, old[off:min(off+PageBytes, len(old))]) {
					want = append(want, int64(off))
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d to %d pages: %v, not %v", n, m, got, want)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		r := seeded(t)
		l.mkdir("tree")
		m := &meddler{r, l.root("tree")}
		last, entries := ID{}, map[string]Entry{}
		for range 12 {
			for range 1 + r.IntN(20) {
				m.meddle()
			}
			tree := l.capture("tree", Rules{Unit: Chunks}, nil)
			now := map[string]Entry{}
			for e, err := range l.s.Walk(t.Context(), tree.Manifest) {
				l.ok(err)
				now[e.Path] = e
			}
			prev := ""
			for c, err := range l.s.Diff(t.Context(), last, tree.Manifest) {
				l.ok(err)
				if prev != "" && comparePaths(prev, c.Path()) >= 0 {
					t.Fatalf("%q after %q", c.Path(), prev)
				}
				prev = c.Path()
				if c.Old != nil {
					if old, ok := entries[c.Path()]; !ok || !equalEntries(&old, c.Old) {
						t.Fatalf("%q was not %+v", c.Path(), c.Old)
					}
					delete(entries, c.Path())
				}
				if c.New != nil {
					entries[c.Path()] = *c.New
				}
			}
			if len(entries) != len(now) {
				t.Fatalf("%d entries, not %d", len(entries), len(now))
			}
			for p, e := range now {
				if got := entries[p]; !equalEntries(&got, &e) {
					t.Fatalf("%q is %+v, not %+v", p, got, e)
				}
				found, ok, err := l.s.Lookup(t.Context(), tree.Manifest, p)
				if err != nil || !ok || !equalEntries(&found, &e) {
					t.Fatalf("look-up of %q: %+v %v %v", p, found, ok, err)
				}
			}
			for _, p := range []string{"not there", "", "zzzz", "a/not"} {
				if _, ok, err := l.s.Lookup(t.Context(), tree.Manifest, p); ok || err != nil {
					t.Errorf("look-up of %q: %v %v", p, ok, err)
				}
			}
			last = tree.Manifest
		}
		n := 0
		for range l.s.Diff(t.Context(), last, last) {
			n++
		}
		for c, err := range l.s.Diff(t.Context(), last, ID{}) {
			if err != nil || c.New != nil {
				t.Error(c, err)
			}
			n++
		}
		if n != len(entries) {
			t.Errorf("%d differences to nothing, not %d", n, len(entries))
		}
	})
}

func FuzzRun(f *testing.F) {
	f.Add(encodeRun(nil))
	f.Add(encodeRun(someEntries()))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeRun(data)
		if err == nil && !bytes.Equal(encodeRun(entries), data) {
			t.Error("two encodings of the same entries")
		}
	})
}

func FuzzBranch(f *testing.F) {
	f.Add(encodeBranch(1, []child{{".", 3, ID{1}}, {"a/b", 64, ID{2}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		level, children, err := decodeBranch(data)
		if err == nil && !bytes.Equal(encodeBranch(level, children), data) {
			t.Error("two encodings of the same branch")
		}
	})
}

func FuzzContent(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	refs := make([]contentRef, 64)
	for i := range refs {
		refs[i] = contentRef{pack.Sum(noise(r, 8)), PageBytes}
	}
	f.Add(encodeContent(Pages, 1, refs), uint8(1), uint8(1), int64(64*PageBytes))
	f.Add(encodeContent(Chunks, 2, refs[:5]), uint8(2), uint8(2), int64(5*PageBytes))
	f.Fuzz(func(t *testing.T, data []byte, unit, depth uint8, size int64) {
		refs, err := decodeContent(data, Unit(unit), depth, size)
		if err == nil && !bytes.Equal(encodeContent(Unit(unit), depth, refs), data) {
			t.Error("two encodings of the same node")
		}
	})
}

func FuzzMemory(f *testing.F) {
	r := remembered{path: "a/b", stat: stat{1, 2, 3, 4, 5}, trusted: true, content: Content{Chunks, 0, ID{1}}}
	body := append([]byte(memoryMagic), memoryVersion)
	body = appendString(body, "x")
	body = append(body, 2, 4)
	body = append(body, "boot"...)
	body = append(body, 1)
	f.Add(r.append(body, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := pack.Sum(data)
		_, _ = decodeMemory(append(data, sum[:]...), "boot")
	})
}
