package storage

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/vfs"
)

// bothUnits are the rules of a cluster and of sources.
var bothUnits = map[string]Rules{
	"pages":  {Unit: Pages},
	"chunks": {Unit: Chunks, Mtimes: true, Xattrs: true},
}

func TestRandomTreesComeBack(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		r := seeded(t)
		l.mkdir("tree")
		for name := range bothUnits {
			l.mkdir("slot-" + name)
		}
		m := &meddler{r, l.root("tree")}
		memory := map[string]*Memory{}
		have := map[string]ID{}
		for round := range 16 {
			for range 1 + r.IntN(8) {
				m.meddle()
			}
			for name, rules := range bothUnits {
				tree := l.capture("tree", rules, memory[name])
				if again := l.capture("tree", rules, nil); again.Manifest != tree.Manifest {
					t.Fatalf("round %d, %s: the manifest depends on what is remembered", round, name)
				}
				opt := PatchOptions{Have: have[name], Verify: 0.5}
				if round%5 == 4 {
					opt.Have = ID{} // unknown: all is compared
				}
				l.patch("slot-"+name, tree.Manifest, opt)
				same(t, name, l.tree("slot-"+name), l.tree("tree"))
				memory[name], have[name] = tree.Memory, tree.Manifest
			}
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
		}
		report, err := l.s.Check(context.Background(), CheckOptions{ReadData: true})
		l.ok(err)
		if len(report.Problems) > 0 || report.Indexes > 8 {
			t.Errorf("%+v", report)
		}
	})
}

func TestEveryKindOfPathComesBack(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		r := seeded(t)
		for _, name := range oddNames {
			l.write("tree/"+name+"/"+name, text(r, 20_000))
		}
		l.ok(l.fs.Mkdir(l.path("tree/empty"), 0o710))
		l.ok(l.fs.Mkdir(l.path("tree/empty/below"), 0o500))
		l.ok(l.fs.Symlink("../outside", l.path("tree/link")))
		l.ok(l.fs.Symlink("a", l.path("tree/link to a directory")))
		for name, mode := range map[string]uint32{"suid": 0o4755, "sgid": 0o2710, "both": 0o7511, "exec": 0o711, "none": 0} {
			l.write("tree/"+name, []byte(name))
			l.ok(l.fs.Chmod(l.path("tree/"+name), vfs.FileMode(mode)))
		}
		dirs := []string{"shared", "shared/plain", "shared/plain/sub", "scratch", "all"}
		for i, mode := range []uint32{0o2775, 0o755, 0o2755, 0o1777, 0o7700} {
			l.ok(l.fs.Mkdir(l.path("tree/"+dirs[i]), vfs.FileMode(mode)))
		}
		l.write("tree/shared/child", []byte("child"))
		l.ok(l.fs.Chmod(l.path("tree/a"), 0o550))
		want := l.tree("tree")
		for name, rules := range bothUnits {
			tree := l.capture("tree", rules, nil)
			l.mkdir("out-" + name)
			l.patch("out-"+name, tree.Manifest, PatchOptions{})
			same(t, name, l.tree("out-"+name), want)
			info, err := l.fs.Lstat(l.path("out-" + name + "/suid"))
			l.ok(err)
			if info.Bits() != 0o4755 {
				t.Errorf("mode 4755 came back as %04o", info.Bits())
			}
			// Once more, into what is protected against writing.
			l.patch("out-"+name, tree.Manifest, PatchOptions{Have: tree.Manifest})
			l.patch("out-"+name, tree.Manifest, PatchOptions{Verify: 1})
			same(t, name+" again", l.tree("out-"+name), want)
		}
	})
}

func TestLargeFilesComeBack(t *testing.T) {
	l := newLab(t, vfs.OS(), t.TempDir())
	r := seeded(t)
	data := noise(r, 40<<20) // three levels of content nodes
	l.write("tree/large", data)
	for name, rules := range bothUnits {
		tree := l.capture("tree", rules, nil)
		l.mkdir("out-" + name)
		l.patch("out-"+name, tree.Manifest, PatchOptions{})
		if !bytes.Equal(l.read("out-"+name+"/large"), data) {
			t.Fatalf("%s: other bytes", name)
		}
		e, ok, err := l.s.Lookup(t.Context(), tree.Manifest, "large")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		f, err := l.s.Reader(t.Context(), e)
		l.ok(err)
		got, err := io.ReadAll(f)
		l.ok(err)
		l.ok(f.Close())
		if !bytes.Equal(got, data) {
			t.Fatalf("%s: the reader gives other bytes", name)
		}
		content, n, err := l.s.HashFile(t.Context(), l.root("tree"), "large", rules.Unit)
		if err != nil || content != e.Content || n != e.Size {
			t.Errorf("%s: HashFile gives %v %d %v, the scan %v %d", name, content, n, err, e.Content, e.Size)
		}
		w, err := l.s.NewWriter(t.Context())
		l.ok(err)
		content, n, err = w.Content(t.Context(), bytes.NewReader(data), rules.Unit)
		if err != nil || content != e.Content || n != e.Size {
			t.Errorf("%s: Content gives %v %d %v, the scan %v %d", name, content, n, err, e.Content, e.Size)
		}
		w.Abort()
		// One page in the middle, and one that shifts what follows.
		l.poke("tree/large", 33<<20, []byte("changed for "+name))
		next := l.capture("tree", rules, tree.Memory)
		stats := l.patch("out-"+name, next.Manifest, PatchOptions{Have: tree.Manifest})
		if rules.Unit == Pages && stats.WrittenBytes != PageBytes {
			t.Errorf("%s: one changed page made the patch write %d bytes", name, stats.WrittenBytes)
		}
		if !bytes.Equal(l.read("out-"+name+"/large"), l.read("tree/large")) {
			t.Fatalf("%s: other bytes after a change", name)
		}
		copy(data[33<<20:], "changed for "+name)
	}
}

// A source file keeps its times, attributes and holes.
func TestSourcesKeepTimesAttributesAndHoles(t *testing.T) {
	l := newLab(t, vfs.OS(), t.TempDir())
	l.write("tree/file", []byte("text"))
	l.ok(l.fs.Chtimes(l.path("tree/file"), 1234567890123456789))
	attr := vfs.Xattr{Name: "user.forklift.test", Value: []byte{0, 1, 255}}
	if err := l.fs.SetXattr(l.path("tree/file"), attr); err != nil && !strings.Contains(err.Error(), syscall.ENOTSUP.Error()) {
		t.Fatal(err)
	}
	f, err := os.Create(l.path("tree/sparse"))
	l.ok(err)
	_, err = f.WriteAt([]byte("in the middle"), 20<<20)
	l.ok(err)
	l.ok(f.Truncate(40 << 20))
	l.ok(f.Close())
	tree := l.capture("tree", bothUnits["chunks"], nil)
	l.mkdir("out")
	l.patch("out", tree.Manifest, PatchOptions{})
	same(t, "sparse", l.tree("out"), l.tree("tree"))
	info, err := l.fs.Lstat(l.path("out/file"))
	l.ok(err)
	if info.Mtime != 1234567890123456789 {
		t.Errorf("the time is %d", info.Mtime)
	}
	before, err := l.fs.Xattrs(l.path("tree/file"))
	l.ok(err)
	after, err := l.fs.Xattrs(l.path("out/file"))
	l.ok(err)
	if len(before) != len(after) || (len(before) > 0 && !bytes.Equal(before[0].Value, after[0].Value)) {
		t.Errorf("attributes %v became %v", before, after)
	}
	info, err = l.fs.Lstat(l.path("out/sparse"))
	l.ok(err)
	if info.Blocks*512 > 1<<20 {
		t.Errorf("a hole of 40 MiB takes %d bytes", info.Blocks*512)
	}
	e, _, err := l.s.Lookup(t.Context(), tree.Manifest, "sparse")
	l.ok(err)
	if !e.Sparse {
		t.Error("the entry does not say that it has holes")
	}
	// A cluster's manifest must not depend on how a file was written.
	pages := l.capture("tree", bothUnits["pages"], nil)
	if e, _, _ := l.s.Lookup(t.Context(), pages.Manifest, "sparse"); e.Sparse || e.Mtime != 0 {
		t.Errorf("%+v", e)
	}
}
