package basebackup

import (
	"archive/tar"
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
	"testing"

	"forklift/storage/vfs"
)

// good is an archive that is accepted.
var good = []tar.Header{
	{Name: "./PG_VERSION", Size: 3}, {Name: "backup_label", Size: 5}, {Name: "global/", Typeflag: tar.TypeDir}, {Name: "global/pg_control", Size: 8192},
	{Name: "base/1/", Typeflag: tar.TypeDir}, {Name: "base/1/1259", Size: 16384}, {Name: "pg_tblspc", Typeflag: tar.TypeDir},
	{Name: "postgresql.conf", Size: 4}, {Name: "server.key", Size: 4}, {Name: "log/today.log", Size: 4}, {Name: "pg_wal/archive_status/", Typeflag: tar.TypeDir},
}

// archive makes an archive whose files are filled with x.
func archive(t testing.TB, members ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range members {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		h.Mode = 0o777
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpackInto unpacks an archive into /copy of a file system that has a file
// /outside, and gives the names that are below / afterwards.
func unpackInto(t testing.TB, data []byte) (names []string, u *unpacker, err error) {
	t.Helper()
	m := vfs.NewMem()
	if err := m.Mkdir("/copy", 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := m.OpenRoot("/copy")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u = &unpacker{ctx: context.Background(), root: root}
	err = u.unpack(bytes.NewReader(data))
	var walk func(dir string)
	walk = func(dir string) {
		entries, readErr := m.ReadDir(dir)
		if readErr != nil {
			t.Fatal(readErr)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name)
			names = append(names, name)
			if e.Type.IsDir() {
				walk(name)
			} else if info, statErr := m.Lstat(name); statErr != nil || !info.IsRegular() || info.Mode.Perm() != 0o600 {
				t.Fatalf("%s is %v, %v, want a regular file of mode 0600", name, info.Mode, statErr)
			}
		}
	}
	walk("/")
	return names, u, err
}

func TestUnpackKeepsTheStateOnly(t *testing.T) {
	names, u, err := unpackInto(t, archive(t, good...))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/copy", "/copy/PG_VERSION", "/copy/backup_label", "/copy/base", "/copy/base/1", "/copy/base/1/1259", "/copy/global",
		"/copy/global/pg_control", "/copy/pg_tblspc", "/copy/pg_wal", "/copy/pg_wal/archive_status"}
	if !slices.Equal(names, want) {
		t.Errorf("made %v\nwant %v", names, want)
	}
	if got := u.skippedNames(); !slices.Equal(got, []string{"log", "postgresql.conf", "server.key"}) {
		t.Errorf("left out %v", got)
	}
}

func TestHostileArchives(t *testing.T) {
	long := strings.Repeat("a", maxNameBytes)
	for name, c := range map[string]struct {
		member tar.Header
		want   string
	}{
		"up":                 {tar.Header{Name: "base/../../outside", Size: 1}, "no name in a data directory"},
		"up at once":         {tar.Header{Name: "../outside", Size: 1}, "no name in a data directory"},
		"absolute":           {tar.Header{Name: "/etc/outside", Size: 1}, "no name in a data directory"},
		"only up":            {tar.Header{Name: "..", Typeflag: tar.TypeDir}, "no name in a data directory"},
		"dots within":        {tar.Header{Name: "base/./1/2", Size: 1}, "no name in a data directory"},
		"too long":           {tar.Header{Name: "base/" + long, Size: 1}, "no name in a data directory"},
		"too deep":           {tar.Header{Name: "base" + strings.Repeat("/a", maxDepth), Size: 1}, "no name in a data directory"},
		"symbolic link":      {tar.Header{Name: "base/9", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, "which a data directory has not"},
		"hard link":          {tar.Header{Name: "base/9", Typeflag: tar.TypeLink, Linkname: "PG_VERSION"}, "which a data directory has not"},
		"device":             {tar.Header{Name: "base/9", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, "which a data directory has not"},
		"pipe":               {tar.Header{Name: "global/9", Typeflag: tar.TypeFifo}, "which a data directory has not"},
		"tablespace":         {tar.Header{Name: "pg_tblspc/16384", Typeflag: tar.TypeSymlink, Linkname: "/srv"}, "a tablespace is outside"},
		"map of tablespaces": {tar.Header{Name: "tablespace_map", Size: 9}, "a tablespace is outside"},
		"twice":              {tar.Header{Name: "base/1/1259", Size: 1}, "exist"},
		"a file for a top":   {tar.Header{Name: "pg_xact", Size: 1}, "which a data directory has not"},
		"below a file":       {tar.Header{Name: "base/1/1259/x", Size: 1}, "base/1/1259"},
		"a top for a file":   {tar.Header{Name: "PG_VERSION/x", Size: 1}, ""},
	} {
		names, _, err := unpackInto(t, archive(t, append(slices.Clone(good), c.member)...))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v, want it left out", name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		for _, n := range names {
			if n != "/copy" && !strings.HasPrefix(n, "/copy/") {
				t.Errorf("%s: made %s", name, n)
			}
		}
	}
}

func TestIncompleteArchives(t *testing.T) {
	for i, h := range good[:4] {
		if h.Typeflag == tar.TypeDir {
			continue
		}
		_, _, err := unpackInto(t, archive(t, slices.Delete(slices.Clone(good), i, i+1)...))
		if err == nil || !strings.Contains(err.Error(), "the archive has no") {
			t.Errorf("without %s: %v", h.Name, err)
		}
	}
	whole := archive(t, good...)
	for _, n := range []int{1, 511, 513, 1024 + 700, len(whole) / 2} {
		if _, _, err := unpackInto(t, whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(whole))
		}
	}
}

// FuzzUnpack: whatever a server sends, nothing is made outside of the copy,
// and what is made is a regular file or a directory.
func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, good...))
	f.Add(archive(f, tar.Header{Name: "base/../../outside", Size: 1}))
	f.Add(archive(f, tar.Header{Name: "base/9", Typeflag: tar.TypeSymlink, Linkname: "/etc"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, _, _ := unpackInto(t, data)
		for _, n := range names {
			if n != "/copy" && !strings.HasPrefix(n, "/copy/") {
				t.Fatalf("made %s", n)
			}
		}
	})
}
