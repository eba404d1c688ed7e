package durable_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/durable"
	"forklift/storage/vfs"
)

// scenario is one call of this package and the states it may lead to. A
// state is what tree says.
type scenario struct {
	name    string
	prepare func(fsys vfs.FS) error // made durable before run
	run     func(fsys vfs.FS) error
	before  string
	after   string
	between string // a regular expression of further states after an error or a crash
}

// tree is everything below "/" but temporary files: names, contents, slashes
// after directories, "->" and what links say.
func tree(fsys vfs.FS, dir string) string {
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, e := range list {
		name := path.Join(dir, e.Name)
		switch {
		case durable.IsTemp(e.Name):
		case e.Type.IsDir():
			all = append(all, name+"/", tree(fsys, name))
		case e.Type.IsRegular():
			all = append(all, name+"="+read(fsys, name))
		default:
			target, _ := fsys.Readlink(name)
			all = append(all, name+"->"+target)
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	return strings.Join(all, " ")
}

func read(fsys vfs.FS, name string) string {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(data), "\x00", "0")
}

// put makes a file by plain calls.
func put(fsys vfs.FS, name, content string) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(content)); err != nil {
		return err
	}
	return f.Close()
}

// steps makes one function of several.
func steps(list ...func(fsys vfs.FS) error) func(fsys vfs.FS) error {
	return func(fsys vfs.FS) error {
		for _, step := range list {
			if err := step(fsys); err != nil {
				return err
			}
		}
		return nil
	}
}

func file(name, content string) func(vfs.FS) error {
	return func(fsys vfs.FS) error { return put(fsys, name, content) }
}

func dir(name string) func(vfs.FS) error {
	return func(fsys vfs.FS) error { return fsys.Mkdir(name, 0o700) }
}

func link(target, name string) func(vfs.FS) error {
	return func(fsys vfs.FS) error { return fsys.Symlink(target, name) }
}

var scenarios = []scenario{
	{
		name:    "WriteFile new",
		prepare: steps(),
		run:     func(fsys vfs.FS) error { return durable.WriteFile(fsys, "/f", []byte("new"), 0o600) },
		before:  "", after: "/f=new",
	},
	{
		name:    "WriteFile over another",
		prepare: steps(dir("/d"), file("/d/f", "old")),
		run:     func(fsys vfs.FS) error { return durable.WriteFile(fsys, "/d/f", []byte("new"), 0o600) },
		before:  "/d/ /d/f=old", after: "/d/ /d/f=new",
	},
	{
		name:    "WriteFile over a link",
		prepare: steps(file("/g", "g"), link("g", "/f")),
		run:     func(fsys vfs.FS) error { return durable.WriteFile(fsys, "/f", nil, 0o600) },
		before:  "/f->g /g=g", after: "/f= /g=g",
	},
	{
		name:    "CreateFile",
		prepare: steps(dir("/d")),
		run:     func(fsys vfs.FS) error { return durable.CreateFile(fsys, "/d/f", []byte("new"), 0o600) },
		before:  "/d/", after: "/d/ /d/f=new",
	},
	{
		name:    "MkdirAll",
		prepare: steps(dir("/a")),
		run:     func(fsys vfs.FS) error { return durable.MkdirAll(fsys, "/a/b/c/d", 0o700) },
		before:  "/a/", after: "/a/ /a/b/ /a/b/c/ /a/b/c/d/",
		between: "/a/ /a/b/( /a/b/c/)?",
	},
	{
		name:    "Rename in a directory",
		prepare: steps(file("/a", "a"), file("/b", "b")),
		run:     func(fsys vfs.FS) error { return durable.Rename(fsys, "/a", "/b") },
		before:  "/a=a /b=b", after: "/b=a",
	},
	{
		name:    "Rename of a directory to another one",
		prepare: steps(dir("/a"), dir("/b"), dir("/a/x"), file("/a/x/f", "f")),
		run:     func(fsys vfs.FS) error { return durable.Rename(fsys, "/a/x", "/b/y") },
		before:  "/a/ /a/x/ /a/x/f=f /b/", after: "/a/ /b/ /b/y/ /b/y/f=f",
	},
	{
		name:    "Remove",
		prepare: steps(file("/a", "a"), file("/b", "b")),
		run:     func(fsys vfs.FS) error { return durable.Remove(fsys, "/a") },
		before:  "/a=a /b=b", after: "/b=b",
	},
	{
		name: "RemoveAll",
		prepare: steps(dir("/keep"), file("/keep/f", "f"), dir("/d"), dir("/d/e"), file("/d/e/f", "x"),
			link("/keep", "/d/l"), link("../../keep", "/d/e/l"), dir("/d/empty"), file("/d/z", "")),
		run:    func(fsys vfs.FS) error { return durable.RemoveAll(fsys, "/d") },
		before: "/d/ /d/e/ /d/e/f=x /d/e/l->../../keep /d/empty/ /d/l->/keep /d/z= /keep/ /keep/f=f",
		after:  "/keep/ /keep/f=f", between: "/d/.* /keep/ /keep/f=f",
	},
	{
		name:    "Append to nothing",
		prepare: steps(),
		run:     func(fsys vfs.FS) error { return durable.Append(fsys, "/log", []byte("abcd"), 0o600) },
		before:  "", after: "/log=abcd",
		between: "/log=(ab|0000|00)?", // ab: half a write that failed
	},
	{
		name:    "Append",
		prepare: steps(file("/log", strings.Repeat("-", 4095))),
		run:     func(fsys vfs.FS) error { return durable.Append(fsys, "/log", []byte("abcd"), 0o600) },
		before:  "/log=" + strings.Repeat("-", 4095), after: "/log=" + strings.Repeat("-", 4095) + "abcd",
		between: "/log=-+[ab0][bcd0]{0,3}",
	},
	{
		name:    "Publish",
		prepare: steps(dir("/d"), dir("/w"), file("/d/f", "old")),
		run: func(fsys vfs.FS) error {
			f, err := fsys.OpenFile("/w/f", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			if _, err := f.Write([]byte("new")); err != nil {
				return errors.Join(err, f.Close())
			}
			return durable.Publish(fsys, f, "/d/f")
		},
		before: "/d/ /d/f=old /w/", after: "/d/ /d/f=new /w/",
		between: "/d/ /d/f=old /w/ /w/f=(new|000|n|)",
	},
	{
		name:    "Truncate",
		prepare: steps(file("/log", "abcd")),
		run:     func(fsys vfs.FS) error { return durable.Truncate(fsys, "/log", 2) },
		before:  "/log=abcd", after: "/log=ab", between: "/log=ab00",
	},
	{
		name:    "SyncTree",
		prepare: steps(dir("/d")),
		run: steps(dir("/d/e"), file("/d/e/f", "f"), link("x", "/d/l"),
			func(fsys vfs.FS) error { return durable.SyncTree(fsys, "/d") }),
		before: "/d/", after: "/d/ /d/e/ /d/e/f=f /d/l->x", between: "/d/( /d/e/( /d/e/f=[f0]?)?)?( /d/l->x)?",
	},
}

// withoutSyncFS is a file system whose SyncFS reports no errors.
func withoutSyncFS(base vfs.FS) vfs.FS {
	return vfs.Hook(base, func(c vfs.Call) error {
		if c.Op == vfs.OpSyncFS {
			return errors.ErrUnsupported
		}
		return nil
	})
}

// start makes the file system that a scenario begins with.
func (s scenario) start(t *testing.T) *vfs.Mem {
	m := vfs.NewMem()
	if err := s.prepare(m); err != nil {
		t.Fatal(err)
	}
	if err := m.SyncFS("/"); err != nil {
		t.Fatal(err)
	}
	if got := tree(m, "/"); got != s.before {
		t.Fatalf("begins with %q, want %q", got, s.before)
	}
	return m
}

// allowed says whether a state may be found after an error or a crash.
func (s scenario) allowed(state string) bool {
	return state == s.before || state == s.after || s.between != "" && regexp.MustCompile("^(?:"+s.between+")$").MatchString(state)
}

// TestPowerCuts cuts the power at every call of every scenario.
func TestPowerCuts(t *testing.T) {
	for _, s := range scenarios {
		for _, wrap := range []func(vfs.FS) vfs.FS{func(b vfs.FS) vfs.FS { return b }, withoutSyncFS} {
			t.Run(s.name, func(t *testing.T) {
				for n := 1; ; n++ {
					m := s.start(t)
					m.CutAt(n)
					err := s.run(wrap(m))
					if (err == nil) == m.Cut() {
						t.Fatalf("cut at call %d: %v", n, err)
					}
					for seed := range uint64(40) {
						for _, keep := range []float64{0, 0.1, 0.5, 0.9, 1} {
							state := tree(m.CrashClone(vfs.CrashOptions{Seed: seed, KeepUnsynced: keep}), "/")
							if err == nil && state != s.after || !s.allowed(state) {
								t.Fatalf("cut at call %d (%v), keep %v, seed %d: %q", n, err, keep, seed, state)
							}
						}
					}
					if err == nil {
						return
					}
				}
			})
		}
	}
}

// TestErrors lets every call of every scenario fail, once and for good.
func TestErrors(t *testing.T) {
	all := func(vfs.Call) bool { return true }
	rules := []vfs.Rule{{Err: syscall.EIO}, {Err: syscall.EIO, Match: all}, {Err: syscall.ENOSPC, Sticky: true}, {Err: &vfs.ShortWrite{Err: syscall.ENOSPC}}}
	for _, s := range scenarios {
		for _, rule := range rules {
			t.Run(fmt.Sprintf("%s/%v/sticky=%v/reads=%v", s.name, rule.Err, rule.Sticky, rule.Match != nil), func(t *testing.T) {
				for n := 1; ; n++ {
					m := s.start(t)
					rule.Nth = n
					bad := vfs.Inject(m, rule)
					var calls []vfs.Call
					err := s.run(vfs.Hook(bad, func(c vfs.Call) error {
						calls = append(calls, c)
						return nil
					}))
					state := tree(m, "/")
					failed := bad.Failed()
					if len(failed) == 0 {
						if err != nil || state != s.after {
							t.Fatalf("without a failure: %v, %q", err, state)
						}
						return
					}
					errno := errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC)
					harmless := err == nil && (failed[0].Op == vfs.OpRemove || failed[0].Op == vfs.OpLstat)
					if !errno && !harmless {
						t.Fatalf("%v failed with %v", failed[0], err)
					}
					if !s.allowed(state) {
						t.Fatalf("after a failed %v: %q", failed[0], state)
					}
					checkNoRetry(t, failed[0], calls)
				}
			})
		}
	}
}

// checkNoRetry checks that a failed sync is followed by nothing but the
// removal of a temporary file.
func checkNoRetry(t *testing.T, failed vfs.Call, calls []vfs.Call) {
	switch failed.Op {
	case vfs.OpSync, vfs.OpSyncDir, vfs.OpSyncFS:
	default:
		return
	}
	i := slices.Index(calls, failed)
	for j, c := range calls[i+1:] {
		if c == failed {
			i += j + 1 // the same sync was made before, without failing
		}
	}
	for _, c := range calls[i+1:] {
		if c.Op.Changes() && !(c.Op == vfs.OpRemove && durable.IsTemp(path.Base(c.Name))) {
			t.Fatalf("after a failed %v: %v", failed, c)
		}
	}
}

// TestNoTemporaryFilesAreLeft checks single failures.
func TestNoTemporaryFilesAreLeft(t *testing.T) {
	for _, s := range scenarios {
		for n := 1; ; n++ {
			m := s.start(t)
			bad := vfs.Inject(m, vfs.Rule{Nth: n, Err: syscall.EIO})
			_ = s.run(bad)
			if len(bad.Failed()) == 0 {
				break
			}
			if bad.Failed()[0].Op == vfs.OpRemove {
				continue
			}
			for _, d := range []string{"/", "/d"} {
				list, err := m.ReadDir(d)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				for _, e := range list {
					if durable.IsTemp(e.Name) {
						t.Errorf("%s: %v failed and left %s", s.name, bad.Failed()[0], e.Name)
					}
				}
			}
		}
	}
}
