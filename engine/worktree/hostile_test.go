package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// crafted is a store in which one manifest says what the test wants.
type crafted struct {
	*storage.Store
	id      storage.ID
	entries []storage.Entry
}

func (c *crafted) Walk(ctx context.Context, manifest storage.ID) iter.Seq2[storage.Entry, error] {
	if manifest != c.id {
		return c.Store.Walk(ctx, manifest)
	}
	return func(yield func(storage.Entry, error) bool) {
		for _, e := range c.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// hostile lists manifests that no capture makes, by what is wrong with them.
// content is an entry of a file that the store has.
func hostile(content storage.Entry) map[string][]storage.Entry {
	dirEntry := func(p string) storage.Entry { return storage.Entry{Path: p, Type: storage.Directory, Mode: 0o755} }
	at := func(p string) storage.Entry { e := content; e.Path = p; return e }
	with := func(e storage.Entry, change func(*storage.Entry)) storage.Entry { change(&e); return e }
	src := dirEntry("src")
	return map[string][]storage.Entry{
		"dot dot":                {dirEntry(".."), at("../evil")},
		"dot dot inside":         {src, at("src/../evil")},
		"absolute":               {at("/etc/evil")},
		"empty element":          {src, at("src//evil")},
		"dot element":            {src, at("src/./evil")},
		"empty path":             {at("")},
		"NUL":                    {src, at("src/e\x00vil")},
		"git":                    {dirEntry(".git"), at(".git/config")},
		"GIT inside":             {src, dirEntry("src/.GIT"), at("src/.GIT/config")},
		"git with a dot":         {src, dirEntry("src/.git."), at("src/.git./config")},
		"git with a space":       {src, at("src/.git ")},
		"git as HFS+ sees it":    {src, at("src/.g\u200cit")},
		"git's short name":       {src, at("src/GIT~1")},
		"long name":              {src, at("src/" + strings.Repeat("x", 256))},
		"long path":              {src, at("src/" + strings.Repeat("x/", 2046) + "evil")},
		"staging directory":      {dirEntry(".forklift-staging-x"), at(".forklift-staging-x/evil")},
		"configuration":          {at(".forklift.json")},
		"outside the sources":    {dirEntry("lib"), at("lib/evil")},
		"a file as a lead":       {at("other")},
		"type bits in a mode":    {src, with(at("src/evil"), func(e *storage.Entry) { e.Mode |= 0o100000 })},
		"device":                 {src, with(at("src/evil"), func(e *storage.Entry) { e.Type = 7 })},
		"below a link":           {src, with(at("src/l"), func(e *storage.Entry) { *e = storage.Entry{Path: e.Path, Type: storage.Symlink, Target: "/etc"} }), at("src/l/evil")},
		"below a file":           {src, at("src/f"), at("src/f/evil")},
		"without its parent":     {src, at("src/d/evil")},
		"twice":                  {src, at("src/evil"), at("src/evil")},
		"out of order":           {src, at("src/evil"), at("src/a")},
		"empty link":             {src, {Path: "src/l", Type: storage.Symlink}},
		"link with a NUL":        {src, {Path: "src/l", Type: storage.Symlink, Target: "a\x00b"}},
		"trusted attribute":      {src, with(at("src/evil"), func(e *storage.Entry) { e.Xattrs = []storage.EntryXattr{{Name: "trusted.x"}} })},
		"capability":             {src, with(at("src/evil"), func(e *storage.Entry) { e.Xattrs = []storage.EntryXattr{{Name: "security.capability"}} })},
		"top is a file":          {at(".")},
		"below what is left out": {src, {Path: "src/o", Type: storage.Omitted}, at("src/o/evil")},
		"negative size":          {src, with(at("src/evil"), func(e *storage.Entry) { e.Size = -1 })},
	}
}

// TestHostileManifestsAreRefused restores manifests that no capture makes.
// Each must be refused by name with not one change anywhere.
func TestHostileManifestsAreRefused(t *testing.T) {
	w := newWorld(t)
	evil := w.checkpoint(tree{"src/evil": file("evil")}, sel("src"))
	content, ok, err := w.store.Lookup(context.Background(), evil.Manifest, "src/evil")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	before := tree{"src/mine": file("mine"), "outside": file("outside"), ".git/config": file("config")}
	for name, entries := range hostile(content) {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, store: w.store, clock: w.clock}
			m := w.memory(before)
			saved := w.scan(m, top, sel("src"), nil, nil)
			store := &crafted{Store: w.store, id: storage.ID{1}, entries: entries}
			if entries[0].Path != "." {
				store.entries = append([]storage.Entry{{Path: ".", Type: storage.Directory, Mode: 0o755}}, entries...)
			}
			opt := w.options(m, top, saved, storage.SourceState{Manifest: store.id, Paths: []string{"src"}})
			opt.Store = store
			calls := m.Calls()
			in, err := Stage(context.Background(), opt)
			if err == nil {
				_, err = in.Run(context.Background())
				t.Fatalf("accepted; then %v\n%s", err, harvest(t, m, top))
			}
			if fault.KindOf(err) != fault.Corrupt || fault.HintOf(err) == "" {
				t.Errorf("error %v of kind %v", err, fault.KindOf(err))
			}
			if m.Calls() != calls {
				t.Errorf("%d changing calls were made", m.Calls()-calls)
			}
		})
	}
	for _, paths := range [][]string{{"../x"}, {"/etc"}, {".git"}, {"a/../.."}} {
		m := w.memory(before)
		saved := w.scan(m, top, sel("src"), nil, nil)
		target := evil
		target.Paths = paths
		if _, err := Stage(context.Background(), w.options(m, top, saved, target)); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("sources %q: %v", paths, err)
		}
		target = evil
		target.Covered = paths
		if _, err := Stage(context.Background(), w.options(m, top, saved, target)); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("covered %q: %v", paths, err)
		}
	}
}

// TestPlantedLinksAreNotFollowed replaces a directory of the sources by a
// symbolic link to another one, between any two calls of an install: nothing
// outside the sources may change, ever.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	w := newWorld(t)
	outside := tree{".git/config": file("config"), ".git/hooks": dirOf(0o755), "lib/a": file("lib"), "lib/d/x": file("lib x"), "lib/gone": file("lib gone")}
	target := w.checkpoint(tree{"src/d/a": file("old"), "src/d/new": file("new"), "src/d/d/x": fileMode("x", 0o755), "src/d/e": dirOf(0o700), "src/d/l": link("a")}, sel("src"))
	before := tree{"src/d/a": file("mine"), "src/d/gone": file("gone"), "src/d/d/x": file("x"), "src/d/d/y": file("y")}
	ended := map[bool]int{}
	for _, victim := range []string{".git", "lib", "/outside"} {
		for n := 0; ; n++ {
			m := w.memory(before.merge(outside))
			plant(t, m, "/", tree{"outside/a": file("out"), "outside/d/x": file("out x"), "outside/gone": file("out gone")})
			saved := w.safety(m, top, sel("src"), nil, target)
			in, err := Stage(context.Background(), w.options(m, top, saved, target))
			check(t, err)
			calls, planted := 0, false
			in.fs = vfs.Hook(m, func(vfs.Call) error {
				if calls++; calls == n && !planted {
					planted = true
					if m.Rename(top+"/src/d", top+"/moved") == nil {
						to := victim
						if !path.IsAbs(to) {
							to = path.Join(top, to)
						}
						check(t, m.Symlink(to, top+"/src/d"))
					}
				}
				return nil
			})
			_, err = in.Run(context.Background())
			ended[err == nil]++
			if err != nil && !strings.Contains(err.Error(), "src/d") {
				t.Fatalf("the error names nothing: %v", err)
			}
			got := harvest(t, m, top)
			if lib := got.below("lib").String(); lib != outside.parents().below("lib").String() {
				t.Fatalf("victim %s, call %d: lib holds\n%s", victim, n, lib)
			}
			if git := harvest(t, m, top+"/.git").String(); git != (tree{"config": file("config"), "hooks": dirOf(0o755)}).String() {
				t.Fatalf("victim %s, call %d: .git holds\n%s", victim, n, git)
			}
			wantTree(t, m, "/outside", tree{"a": file("out"), "d/x": file("out x"), "gone": file("out gone")})
			if !planted && n > 0 {
				break
			}
		}
	}
	if ended[false] == 0 {
		t.Error("no install met the link")
	}
	t.Logf("%d installs finished, %d were refused by name", ended[true], ended[false])
}

// TestErrorsAtEveryCall makes each call of an install fail once, and wants
// that it can be run again to the end.
func TestErrorsAtEveryCall(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old"), "src/d/x": file("x"), "src/f": dirOf(0o555), "src/f/y": file("y"), "src/m": fileMode("m", 0o600)}, sel("src"))
	before := tree{"src/a": file("new"), "src/d": file("a file"), "src/f": file("f"), "src/m": file("m"), "src/gone/x": file("x")}
	for _, cause := range []error{fs.ErrPermission, errors.New("input/output error")} {
		for n := 1; ; n++ {
			m := w.memory(before)
			saved := w.safety(m, top, sel("src"), nil, target)
			in, err := Stage(context.Background(), w.options(m, top, saved, target))
			check(t, err)
			calls := 0
			in.fs = vfs.Hook(m, func(c vfs.Call) error {
				if calls++; calls == n {
					return fmt.Errorf("call %d: %w", n, cause)
				}
				return nil
			})
			_, _ = in.Run(context.Background())
			if calls < n {
				break
			}
			again, err := OpenInstall(context.Background(), m, top, w.store, w.clock, operation, false)
			check(t, err)
			list, err := finish(context.Background(), again)
			if err != nil || len(list) > 0 {
				t.Fatalf("call %d: %v, %v", n, list, err)
			}
			wantTree(t, m, top, tree{"src/a": file("old"), "src/d/x": file("x"), "src/f": dirOf(0o555), "src/f/y": file("y"), "src/m": fileMode("m", 0o600)})
		}
	}
}
