package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// pretend makes a directory with programs that say they are PostgreSQL.
func pretend(t *testing.T, dir, version string, programs ...string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	for _, name := range programs {
		text := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
		if name == "pg_config" {
			text = "#!/bin/sh\nfor a; do case $a in --bindir) echo " + dir + ";; *) echo /nowhere;; esac; done\n"
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	return dir
}

// pretended are options that see only what PATH and the variables say, and
// what the machine has in PostgreSQL's usual places.
func pretended(env map[string]string) Options {
	return Options{FS: vfs.OS(), Clock: clock.System{}, Getenv: func(name string) string { return env[name] }}
}

func TestChoose(t *testing.T) {
	top := t.TempDir()
	dir := func(name string) string { return filepath.Join(top, name) }
	v15 := pretend(t, dir("15"), "15.3 (Debian 15.3-1)", "postgres", "initdb")
	v16 := pretend(t, dir("16"), "16.4", "postgres", "initdb")
	v17 := pretend(t, dir("17"), "17.2 (Debian 17.2-1.pgdg)", "postgres", "initdb", "pg_config")
	v18 := pretend(t, dir("18"), "18beta1", "postgres", "initdb")
	half := pretend(t, dir("half"), "17.2", "postgres")
	other := pretend(t, dir("other"), "", "postgres", "initdb")
	for _, test := range []struct {
		name  string
		path  []string
		bin   string
		env   string
		major int
		want  string // directory, or words of the error
	}{
		{"17 goes before what is first", []string{v15, v16, v18, v17}, "", "", 0, v17},
		{"by the major version", []string{v15, v16, v18, v17}, "", "", 18, v18},
		{"by the major version, 16", []string{v17, v16}, "", "", 16, v16},
		{"the variable goes before PATH", []string{v17}, "", v16, 0, v16},
		{"what is named goes before the variable", []string{v17}, v18, v16, 0, v18},
		{"what is named is not passed over", []string{v17}, v15, "", 0, "is version 15.3"},
		{"what is named is of another version", []string{v17}, v16, "", 17, "the cluster is of PostgreSQL 17, this is version 16.4"},
		{"what is named has no initdb", []string{v17}, "", half, 0, "has no program initdb"},
		{"what is named is not PostgreSQL", []string{v17}, other, "", 0, "tells no version"},
		{"what is named is not there", []string{v17}, dir("none"), "", 0, "no such directory"},
		{"nothing of that version", []string{v15}, "", "", 11, "no PostgreSQL 11 on this machine"},
	} {
		opt := pretended(map[string]string{"PATH": strings.Join(append(test.path, "/bin", "relative"), ":"), "FORKLIFT_PG_BIN": test.env})
		opt.Bin = test.bin
		got, err := opt.choose(t.Context(), test.major)
		switch {
		case err == nil && got.Bin != test.want:
			t.Errorf("%s: %s, want %s", test.name, got.Bin, test.want)
		case err != nil && (fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), test.want) || fault.HintOf(err) == ""):
			t.Errorf("%s: %v (hint %q), want %s", test.name, err, fault.HintOf(err), test.want)
		}
	}
}

// TestChooseInterrupted does not blame the machine for a Ctrl-C, and names a
// place that is found twice once.
func TestChooseInterrupted(t *testing.T) {
	v15 := pretend(t, filepath.Join(t.TempDir(), "15"), "15.3", "postgres", "initdb")
	opt := pretended(map[string]string{"PATH": v15 + ":" + v15 + ":/bin"})
	_, err := opt.choose(t.Context(), 11)
	if n := strings.Count(strings.Join(fault.ItemsOf(err), "\n"), v15+":"); n != 1 {
		t.Errorf("%s is named %d times in %q", v15, n, fault.ItemsOf(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := opt.choose(ctx, 0); fault.KindOf(err) != fault.Canceled {
		t.Errorf("interrupted: %v, kind %v", err, fault.KindOf(err))
	}
}

func TestFind(t *testing.T) {
	top := t.TempDir()
	v17 := pretend(t, filepath.Join(top, "17/bin"), "17.2", "postgres", "initdb")
	must(t, os.MkdirAll(filepath.Join(top, "17/share/extension"), 0o755))
	must(t, os.WriteFile(filepath.Join(top, "17/share/extension/plpgsql.control"), []byte("default_version = '1.0'\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(top, "17/share/extension/vector.control"), []byte("comment = 'x'\n default_version='0.8.0'\n"), 0o644))
	v15 := pretend(t, filepath.Join(top, "15"), "15.3", "postgres", "initdb")
	link := filepath.Join(top, "link")
	must(t, os.Symlink(v17, link))
	found, err := Find(t.Context(), pretended(map[string]string{"PATH": link + ":" + v15 + ":" + v17 + ":/bin"}))
	must(t, err)
	var got []string
	for _, i := range found {
		if strings.HasPrefix(i.Bin, top) { // the machine may have others
			got = append(got, fmt.Sprintf("%s %s %s %v %v", filepath.Base(filepath.Dir(i.Bin)), i.Version, i.Found, i.Usable, i.Extensions))
		}
	}
	want := []string{"17 17.2 PATH true [{plpgsql 1.0} {vector 0.8.0}]", filepath.Base(top) + " 15.3 PATH false []"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q\nwant %q", got, want)
	}
}

func TestFindListsTheNamedOneFirst(t *testing.T) {
	top := t.TempDir()
	v16 := pretend(t, filepath.Join(top, "16"), "16.1", "postgres", "initdb")
	v17 := pretend(t, filepath.Join(top, "17"), "17.1", "postgres", "initdb")
	found, err := Find(t.Context(), pretended(map[string]string{"PATH": v17 + ":/bin", "FORKLIFT_PG_BIN": v16}))
	must(t, err)
	other := slices.IndexFunc(found, func(i Installation) bool { return i.Bin == v17 })
	if found[0].Bin != v16 || !found[0].Named || other < 0 || found[other].Named {
		t.Errorf("found %+v", found)
	}
}

func TestFindTellsAboutRealOnes(t *testing.T) {
	c := initialised(t)
	found, err := Find(t.Context(), c.opt)
	must(t, err)
	i := slices.IndexFunc(found, func(i Installation) bool { return i.Bin == c.running().Bin })
	if i < 0 || !found[i].Usable || !slices.ContainsFunc(found[i].Extensions, func(e Extension) bool { return e.Name == "pg_trgm" && e.Version != "" }) {
		t.Errorf("found %+v", found)
	}
	if found[i].ShareDir == "" || found[i].LibDir == "" {
		t.Errorf("directories %q and %q", found[i].ShareDir, found[i].LibDir)
	}
}

// TestRecordedInstallation counts as long as the program is the same.
func TestRecordedInstallation(t *testing.T) {
	top := t.TempDir()
	bin := pretend(t, filepath.Join(top, "bin"), "17.1", "postgres", "initdb")
	opt := pretended(map[string]string{"PATH": bin + ":/bin"})
	fresh := func() *cluster {
		c := &cluster{opt: opt, branch: engine.Branch{ID: "x", Dir: filepath.Join(top, "branch")}}
		must(t, c.ensureRunDir())
		return c
	}
	first, err := fresh().installed(t.Context(), 17)
	must(t, err)
	// A better PATH does not move a branch that uses something already.
	opt = pretended(map[string]string{"PATH": "/bin"})
	again, err := fresh().installed(t.Context(), 17)
	must(t, err)
	if again.Bin != first.Bin {
		t.Errorf("%s became %s", first.Bin, again.Bin)
	}
	// An upgrade is seen; so is what the user names now.
	opt = pretended(map[string]string{"PATH": bin + ":/bin"})
	pretend(t, bin, "17.20", "postgres", "initdb")
	if up, err := fresh().installed(t.Context(), 17); err != nil || up.Version != "17.20" {
		t.Errorf("after an upgrade: %+v %v", up, err)
	}
	other := pretend(t, filepath.Join(top, "other"), "17.3", "postgres", "initdb")
	opt = pretended(map[string]string{"PATH": "/bin", "FORKLIFT_PG_BIN": other})
	if named, err := fresh().installed(t.Context(), 17); err != nil || named.Bin != other {
		t.Errorf("named now: %+v %v", named, err)
	}
}

func TestSettings(t *testing.T) {
	open := Opener(Options{FS: vfs.OS(), Clock: clock.System{}})
	for text, want := range map[string]string{
		``: "app", `null`: "app", `{}`: "app", `{"database": "shop"}`: "shop", `{"kind": "postgres", "database": "Ä b"}`: "Ä b",
		`{"database": 5}`:                                "cannot unmarshal",
		`{"databse": "x"}`:                               "unknown field",
		`{"kind": "mysql"}`:                              `kind "mysql"`,
		`{"database":"template1"}`:                       "template",
		`{"database":"a\nb"}`:                            "line break",
		`{"database":"` + strings.Repeat("x", 64) + `"}`: "63 bytes",
	} {
		db, err := open(t.Context(), engine.Branch{ID: "x", Dir: t.TempDir()}, []byte(text))
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v (%s), want %s", text, err, fault.KindOf(err), want)
			}
			continue
		}
		if got := db.(*cluster).databaseName(); got != want {
			t.Errorf("%s: database %q, want %q", text, got, want)
		}
	}
}

func TestTemplateNamesWhatInitMakes(t *testing.T) {
	opt := options(t)
	names := map[string]bool{}
	for _, settings := range []string{"", `{"database": "shop"}`} {
		c := branchIn(t, opt, t.TempDir(), []byte(settings))
		for range 2 {
			name, err := c.Template(t.Context())
			must(t, err)
			names[name] = true
		}
	}
	if len(names) != 2 {
		t.Errorf("templates %v, want one per database name", names)
	}
	c := branchIn(t, opt, t.TempDir(), []byte(`{"database": "shop"}`))
	must(t, c.Init(t.Context(), engine.SlotA))
	must(t, c.Start(t.Context(), engine.SlotA))
	if got := value(t, c, "SELECT current_database() || pg_encoding_to_char(encoding) || datlocprovider::text || datlocale FROM pg_database WHERE datname = current_database()"); got != "shopUTF8bC.UTF-8" {
		t.Errorf("the new database is %s", got)
	}
	if err := c.Init(t.Context(), engine.SlotA); err == nil {
		t.Error("a slot with a cluster was initialised")
	}
}
