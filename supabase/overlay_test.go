package supabase

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes files below a directory of the disk.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	ok(t, err)
	return string(data)
}

// entriesOf lists a directory; links show where they lead to.
func entriesOf(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	ok(t, err)
	var names []string
	for _, e := range list {
		name := e.Name()
		if to, err := os.Readlink(filepath.Join(dir, name)); err == nil {
			name += "->" + filepath.Base(to)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// As CLI 3.1.0 names them: the SHA-256 of three texts, each behind its length.
func TestTheCLIsNameOfAStack(t *testing.T) {
	i := identity{ProjectRoot: "/srv/project", BranchContext: "ordinary-workspace", StackName: "default"}
	if got, want := i.id(), "ad3445cdb6815d47e88f4f1a84987477949d4949bb9b6ef49954746094eb4228"; got != want {
		t.Errorf("id = %s, want %s", got, want)
	}
}

func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	project, o := filepath.Join(dir, "project"), overlay{vfs.OS(), filepath.Join(dir, "overlay")}
	write(t, project, map[string]string{"supabase/config.toml": "[api]\nport = 54321\n", "supabase/migrations/1_a.sql": "", "supabase/seed.sql": "", "supabase/.env": "A=1",
		"supabase/.temp/cli-latest": "", ".env.local": "", "package.json": "", ".git/HEAD": "x"})
	ok(t, o.derive(project, map[string]int{"api": 20001}, nil))
	if got, want := entriesOf(t, o.dir), ".env.local->.env.local .git package.json->package.json supabase"; got != want {
		t.Errorf("the overlay holds %s, want %s", got, want)
	}
	if got, want := entriesOf(t, o.dir+"/supabase"), ".env->.env config.toml migrations->migrations seed.sql->seed.sql"; got != want {
		t.Errorf("its supabase holds %s, want %s", got, want)
	}
	if got := read(t, o.dir+"/supabase/config.toml"); got != "[api]\nport = 20001\n" {
		t.Errorf("config.toml = %q", got)
	}
	if got := read(t, o.dir+"/.git/HEAD"); got != "ref: "+pinnedBranch+"\n" {
		t.Errorf("the mark is %q", got)
	}

	// What came and went with a restore, and what the CLI has written.
	ok(t, os.Remove(project+"/supabase/seed.sql"))
	write(t, project, map[string]string{"supabase/roles.sql": "", "supabase/supabase.lock": "of the project"})
	write(t, o.dir, map[string]string{"supabase/.temp/x": "", "supabase/supabase.lock": "of the CLI"})
	ok(t, o.derive(project, nil, []byte("of the data")))
	if got, want := entriesOf(t, o.dir+"/supabase"), ".env->.env .temp config.toml migrations->migrations roles.sql->roles.sql supabase.lock"; got != want {
		t.Errorf("derived again it holds %s, want %s", got, want)
	}
	if got := read(t, o.dir+"/supabase/supabase.lock"); got != "of the data" {
		t.Errorf("supabase.lock = %q: the data's own counts", got)
	}
	ok(t, o.derive(project, nil, nil))
	if got := read(t, o.dir+"/supabase/supabase.lock"); got != "of the project" {
		t.Errorf("supabase.lock = %q: without data the project's counts", got)
	}
	if got := entriesOf(t, project+"/supabase"); strings.Contains(got, "gitignore") || read(t, project+"/supabase/supabase.lock") != "of the project" {
		t.Errorf("the project was changed: %s", got)
	}
}

func TestOverlayOfAProjectThatIsGone(t *testing.T) {
	dir := t.TempDir()
	err := overlay{vfs.OS(), dir + "/overlay"}.derive(dir, nil, nil)
	if fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Error(err)
	}
}

func TestDetect(t *testing.T) {
	dir := t.TempDir()
	found, err := Detect(context.Background(), vfs.OS(), dir)
	if found != nil || err != nil {
		t.Errorf("in nothing: %v, %v", found, err)
	}
	write(t, dir, map[string]string{"apps/db/supabase/config.toml": "", "node_modules/x/supabase/config.toml": "", ".cache/supabase/config.toml": "",
		"apps/db/package.json": `{"dependencies": {"vite": "1", "@sveltejs/kit": "2"}}`, "apps/db/supabase/functions/hello/index.ts": ""})
	found, err = Detect(context.Background(), vfs.OS(), dir)
	ok(t, err)
	if got, want := string(found.Database), `{"kind": "supabase", "directory": "apps/db"}`; got != want {
		t.Errorf("database = %s, want %s", got, want)
	}
	if got, want := string(found.Options), `{"exclude": ["studio", "analytics", "pooler"], "presets": ["vite", "sveltekit"], "env": {}}`; got != want {
		t.Errorf("supabase = %s, want %s", got, want)
	}
	ok(t, new(Options).parse(found.Options))
	ok(t, new(Settings).parse(found.Database))

	write(t, dir, map[string]string{"apps/other/supabase/config.toml": ""})
	_, err = Detect(context.Background(), vfs.OS(), dir)
	if fault.KindOf(err) != fault.Usage || !slices.Equal(fault.ItemsOf(err), []string{"apps/db", "apps/other"}) || fault.HintOf(err) == "" {
		t.Errorf("of two: %v, %v", err, fault.ItemsOf(err))
	}
	write(t, dir, map[string]string{"supabase/config.toml": ""})
	if found, err = Detect(context.Background(), vfs.OS(), dir); err != nil || string(found.Database) != `{"kind": "supabase"}` {
		t.Errorf("at the top, which counts before those below: %v, %v", found, err)
	}
}

// newStack opens a branch on the disk.
func newStack(t *testing.T, store, id, worktree string, environ ...string) *stack {
	t.Helper()
	b := engine.Branch{ID: id, Dir: filepath.Join(store, "branches", id), Worktree: worktree}
	b.Live = filepath.Join(b.Dir, "live")
	ok(t, os.MkdirAll(b.RunDir(), 0o700))
	db, err := Opener(Deps{FS: vfs.OS(), Clock: clock.System{}, Environ: environ})(context.Background(), b, nil)
	ok(t, err)
	return db.(*stack)
}

// ran makes a slot look as the CLI leaves it: a state.json of its own, with
// another number for the database.
func (s *stack) ran(t *testing.T, slot engine.Slot, number string) {
	t.Helper()
	write(t, s.stackDir(slot), map[string]string{
		"state.json": `{"id":"` + s.id + `","identity":{"projectRoot":"` + s.overlay.dir + `"},"runtime":"native","instances":[{"id":"` + number + `","creation":{"service":"database"}},` +
			`{"id":"rest-1","creation":{"service":"rest","config":{"home":"` + s.home(slot) + `","database":"` + number + `"}}}]}`,
		"data/" + number + "/data/PG_VERSION": "17\n"})
	write(t, s.overlay.dir, map[string]string{lockName: "lock", configName: "[api]\nport = 1\nmax_rows = 7\n"})
	ok(t, s.writeLaunch(slot, cli{Version: "3.1.0"}, map[string]string{apiURL: "http://127.0.0.1:" + itoa(t, s, "api"), dbURL: "postgresql://x:y@127.0.0.1:" + itoa(t, s, "db") + "/postgres"}))
}

func itoa(t *testing.T, s *stack, table string) string {
	t.Helper()
	p, err := s.ports()
	ok(t, err)
	return strings.TrimPrefix(ports{table: p[table]}.unmark("@forklift-port-"+table+"@"), "")
}

func TestTheStateOfOneWorktreeIsThatOfAnother(t *testing.T) {
	store := t.TempDir()
	one, two := newStack(t, store, "one", ""), newStack(t, store, "two", "")
	one.ran(t, engine.SlotA, "chosen-by-the-cli")
	ok(t, one.harvest(engine.SlotA))
	if got := read(t, one.captured(engine.SlotA)+"/state.json"); strings.Contains(got, store) || strings.Contains(got, one.id) || strings.Contains(got, "chosen-by-the-cli") {
		t.Errorf("the captured state is of one place: %s", got)
	}
	if got := read(t, one.captured(engine.SlotA)+"/config.toml"); got != "[api]\nmax_rows = 7\n" {
		t.Errorf("the captured configuration: %q", got)
	}
	if got := read(t, one.Place(engine.SlotA, dataTree)+"/data/PG_VERSION"); got != "17\n" {
		t.Errorf("the database is not at its place: %q", got)
	}
	ok(t, one.harvest(engine.SlotA)) // nothing to do

	// The engine fills the other branch's slot from the capture.
	ok(t, os.MkdirAll(two.stackDir(engine.SlotB), 0o700))
	ok(t, os.CopyFS(two.captured(engine.SlotB), os.DirFS(one.captured(engine.SlotA))))
	ok(t, two.materialise(engine.SlotB))
	got := read(t, two.stackDir(engine.SlotB)+"/state.json")
	if strings.Contains(got, "@forklift") || strings.Contains(got, one.id) || !strings.Contains(got, two.home(engine.SlotB)) || strings.Count(got, two.number) != 2 {
		t.Errorf("the other's state: %s", got)
	}
	if _, err := os.Lstat(two.captured(engine.SlotB) + "/state.json"); !os.IsNotExist(err) {
		t.Errorf("what was captured still counts: %v", err)
	}
	values, err := two.values()
	ok(t, err)
	if want := "http://127.0.0.1:" + itoa(t, two, "api"); values[apiURL] != want || itoa(t, two, "api") == itoa(t, one, "api") {
		t.Errorf("before its first start the other's address is %s, want %s of its own", values[apiURL], want)
	}
}

// Killed between any two changes of a harvest, the next one ends it.
func TestHarvestIsDoneAgain(t *testing.T) {
	for kill := 1; ; kill++ {
		s := newStack(t, t.TempDir(), "one", "")
		s.ran(t, engine.SlotA, "n")
		steps := 0
		s.fs = vfs.Hook(vfs.OS(), func(c vfs.Call) error {
			if c.Op.Changes() {
				steps++
			}
			if steps >= kill {
				return os.ErrClosed
			}
			return nil
		})
		if s.harvest(engine.SlotA) == nil {
			if kill < 5 {
				t.Fatalf("a harvest has only %d steps", kill)
			}
			return
		}
		s.fs = vfs.OS()
		if seen, err := s.look(); err != nil || seen != (sight{}) {
			t.Fatalf("killed at step %d: %v, %v", kill, seen, err)
		}
		ok(t, s.harvest(engine.SlotA))
		if _, err := os.Lstat(s.captured(engine.SlotA) + "/state.json"); err != nil {
			t.Errorf("killed at step %d: %v", kill, err)
		}
		if got := read(t, s.Place(engine.SlotA, dataTree)+"/data/PG_VERSION"); got != "17\n" {
			t.Errorf("killed at step %d: the database is lost", kill)
		}
	}
}

func TestAMovedStoreIsFollowed(t *testing.T) {
	dir := t.TempDir()
	s := newStack(t, dir+"/before", "one", "")
	s.ran(t, engine.SlotA, s.number)
	ok(t, os.Rename(dir+"/before", dir+"/after"))
	moved := newStack(t, dir+"/after", "one", "")
	if moved.id == s.id {
		t.Fatal("the id does not tell the place")
	}
	_, err := moved.State(context.Background(), engine.SlotA)
	ok(t, err)
	doc, err := moved.readState(engine.SlotA)
	ok(t, err)
	if doc == nil || doc.id != moved.id || strings.Contains(string(doc.text), dir+"/before") {
		t.Errorf("the state is still %s", doc.text)
	}
	ok(t, moved.harvest(engine.SlotA))
}

func TestUnknownLayoutsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":       `{`,
		"no database":   `{"id":"x","instances":[{"id":"a","creation":{"service":"rest"}}]}`,
		"two databases": `{"id":"x","instances":[{"id":"a","creation":{"service":"database"}},{"id":"b","creation":{"service":"database"}}]}`,
		"a path":        `{"id":"x","instances":[{"id":"../../a","creation":{"service":"database"}}]}`,
	} {
		if _, err := parseState("state.json", []byte(text)); fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.HintOf(err), tested) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPortsStay(t *testing.T) {
	store := t.TempDir()
	s := newStack(t, store, "one", "")
	first, err := s.ports()
	ok(t, err)
	again, err := newStack(t, store, "one", "").ports()
	ok(t, err)
	others, err := newStack(t, store, "two", "").ports()
	ok(t, err)
	firstPort, lastPort := portRange()
	seen := map[int]bool{}
	for _, table := range portTables {
		if first[table] != again[table] || first[table] < firstPort || first[table] > lastPort {
			t.Errorf("port of %s: %d, then %d", table, first[table], again[table])
		}
		seen[first[table]], seen[others[table]] = true, true
	}
	if len(seen) != 2*len(portTables) {
		t.Errorf("two branches share ports: %v, %v", first, others)
	}
	if text := "http://127.0.0.1:" + itoa(t, s, "api") + "/x"; first.unmark(first.mark(text)) != text || first.mark(text) == text {
		t.Errorf("marks do not lead back: %s", first.mark(text))
	}
	if data, err := durable.ReadFile(vfs.OS(), s.runFile(portsName), 1<<10); err != nil || len(data) == 0 {
		t.Error(err)
	}
}
