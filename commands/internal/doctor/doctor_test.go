package doctor

import (
	"errors"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/engine/config"
	"forklift/engine/postgres"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// healthy are the facts of a machine and a worktree with nothing wrong.
func healthy() *Facts {
	f := &Facts{Version: "1", System: "linux", Postgres: []postgres.Installation{{Bin: "/pg/bin", Version: "17.1", Major: 17, Usable: true}},
		Socket: postgres.SocketPlace{Dir: "/run/forklift", Bytes: 50, Limit: 103}}
	f.Examination = engine.Examination{Git: "2.39.5", Repo: "/repo", SetUp: true, Store: "/store", Made: true, Mode: 0o700, Clones: true,
		Place: storage.Place{FileSystem: "a local disk"}, Space: vfs.Space{FreeBytes: 1 << 40, TotalBytes: 1 << 41},
		Worktree: engine.WorktreeInfo{Name: "repo", Path: "/repo"}, Server: engine.ServerInfo{State: "stopped"},
		Config: &config.File{Source: []string{"src"}, ConnectionEnv: "DATABASE_URL"}, Trusted: true,
		Env: []engine.EnvVar{{Name: "DATABASE_URL", Value: "postgresql://postgres@/app?host=/run/forklift/x"}}}
	return f
}

func TestHealthy(t *testing.T) {
	for _, c := range Examine(healthy()) {
		if c.Verdict != OK || c.Do != "" || c.Found == "" {
			t.Errorf("%+v", c)
		}
	}
}

func TestEachCheckFindsWhatItIsFor(t *testing.T) {
	failed := &fault.Error{Op: "look", Err: errors.New("it is broken"), Hint: "Mend it."}
	runs := &config.File{Source: []string{"src"}, Commands: map[string][]string{"verify": {"true"}}, ConnectionEnv: "DATABASE_URL"}
	for _, c := range []struct {
		id      string
		verdict Verdict
		found   string
		do      string
		change  func(f *Facts)
	}{
		{"git", Problem, "it is broken", "Mend it.", func(f *Facts) { f.GitErr = failed }},
		{"postgres", Problem, "it is broken", "Mend it.", func(f *Facts) { f.PostgresErr = failed }},
		{"postgres", Problem, "no PostgreSQL was found", "postgres install", func(f *Facts) { f.Postgres, f.Used = nil, -1 }},
		{"postgres", Problem, "/pg/bin is version 15.9", "postgres install", func(f *Facts) { f.Postgres[0].Why, f.Used = "is version 15.9", -1 }},
		{"postgres", Warning, "PostgreSQL 16.2", "17", func(f *Facts) { f.Postgres[0].Version, f.Postgres[0].Major = "16.2", 16 }},
		{"jit", Warning, "LLVM", "slow", func(f *Facts) { f.Postgres[0].Why = "its JIT library needs an LLVM that is not here" }},
		{"socket", Problem, "104 bytes, 103 is the most", "XDG_RUNTIME_DIR", func(f *Facts) { f.Socket.Bytes = 104 }},
		{"socket", Problem, "operation not permitted", "sandbox", func(f *Facts) { f.Socket.Err = errors.New("operation not permitted") }},
		{"store", Problem, "it is broken", "Mend it.", func(f *Facts) { f.StoreErr = failed }},
		{"store", OK, "the first setup makes it", "", func(f *Facts) { f.Made = false }},
		{"store-permissions", Problem, "0755", "chmod 700 /store", func(f *Facts) { f.Mode = 0o755 }},
		{"store-permissions", OK, "only you can read the store; other accounts can pass", "", func(f *Facts) { f.Mode = 0o701 }},
		{"file-system", Problem, "a network file system", "local disk", func(f *Facts) { f.Place = storage.Place{FileSystem: "a network file system", Refused: true} }},
		{"file-system", Warning, "in memory", "restart", func(f *Facts) { f.Place = storage.Place{FileSystem: "in memory", Memory: true} }},
		{"clones", OK, "no copy-on-write", "", func(f *Facts) { f.Clones = false }},
		{"locks", Problem, "it is broken", "Mend it.", func(f *Facts) { f.LockErr = failed }},
		{"space", Warning, "1.0 GiB free", "Make room", func(f *Facts) { f.Space.FreeBytes = 1 << 30 }},
		{"space", Problem, "1.0 MiB free", "make room", func(f *Facts) { f.Space.FreeBytes = 1 << 20 }},
		{"space", Warning, "it is broken", "Mend it.", func(f *Facts) { f.SpaceErr = failed }},
		{"worktree", OK, "only the machine", "", func(f *Facts) { f.RepoErr = &fault.Error{Kind: fault.NotFound, Err: errors.New("no repository")} }},
		{"worktree", Problem, "it is broken", "Mend it.", func(f *Facts) { f.RepoErr = failed }},
		{"worktree", Problem, "it is broken", "Mend it.", func(f *Facts) { f.OpenErr = failed }},
		{"worktree", OK, "no database yet", "", func(f *Facts) { f.SetUp = false }},
		{"operation", Problem, "a restore of this worktree was interrupted", "forklift recover", func(f *Facts) { f.Interrupted = "restore" }},
		{"operation", Warning, "other: undo", "forklift recover", func(f *Facts) { f.Others = []string{"other: undo"} }},
		{"server", Problem, "process 7", "Stop that server", func(f *Facts) { f.Server = engine.ServerInfo{State: "foreign", PID: 7} }},
		{"server", Warning, "not stopped cleanly", "Nothing has to be done", func(f *Facts) { f.Server.State = "unclean" }},
		{"server", Problem, "it is broken", "Mend it.", func(f *Facts) { f.ServerErr = failed }},
		{"config", Problem, "it is broken", "Mend it.", func(f *Facts) { f.Config, f.ConfigErr = nil, failed }},
		{"config", Warning, "does not exist: migration", "Correct", func(f *Facts) { f.Missing = []string{"migration"} }},
		{"config", OK, "; git also tracks docs lib", "", func(f *Facts) { f.Unsaved = []string{"docs", "lib"} }},
		{"config", Problem, "line 1 is wrong; line 2 is wrong", "Mend it.", func(f *Facts) {
			f.Config, f.ConfigErr = nil, &fault.Error{Op: "read", Err: errors.New("line 1 is wrong (and 1 more)"), Items: []string{"line 1 is wrong", "line 2 is wrong"}, Hint: "Mend it."}
		}},
		{"tcp", OK, "port is 15432 on 127.0.0.1", "", func(f *Facts) { f.TCP = &engine.TCPInfo{Host: "127.0.0.1", Port: 15432} }},
		{"tcp", Problem, "it is broken", "Mend it.", func(f *Facts) { f.TCPErr = failed }},
		{"limits", Warning, "the store has 9 of 10", "[limits]", func(f *Facts) { f.Limits = []string{"the store has 9 of 10"} }},
		{"trust", Warning, "not approved", "forklift trust", func(f *Facts) { f.Config, f.Trusted = runs, false }},
		{"trust", OK, "approved", "", func(f *Facts) { f.Config = runs }},
		{"dotenv", Warning, ".env:2 points DATABASE_URL to the database prod on db.example.org:5432", "forklift env --format dotenv", func(f *Facts) {
			f.DotEnv = map[string][]byte{".env": []byte("# DATABASE_URL=x\nexport DATABASE_URL=\"postgres://me:hunter2@db.example.org:5432/prod\" # x\n")}
		}},
		{"dotenv", Warning, "another database", "Take the line out", func(f *Facts) {
			f.DotEnv = map[string][]byte{".env.local": []byte("DATABASE_URL = hunter2 # no URL\n")}
		}},
		{"dotenv", OK, "is this worktree's database", "", func(f *Facts) {
			f.DotEnv = map[string][]byte{".env": []byte("OTHER=1\nDATABASE_URL='postgresql://postgres@/app?host=/run/forklift/x'\n")}
		}},
		{"orphans", Warning, "feature, old", "forklift adopt", func(f *Facts) { f.Orphans = []string{"feature", "old"} }},
		{"orphans", Problem, "it is broken", "Mend it.", func(f *Facts) { f.RecordErr = failed }},
		{"unfinished", Warning, "1 setups or teardowns", "next `forklift setup`", func(f *Facts) { f.Unfinished = []string{"x"} }},
	} {
		f := healthy()
		c.change(f)
		var got Check
		for _, check := range Examine(f) {
			if check.ID == c.id {
				got = check
			} else if check.Verdict != OK && c.id != "worktree" {
				t.Errorf("%s: %s says %+v, too", c.id, check.ID, check)
			}
		}
		if got.Verdict != c.verdict || !strings.Contains(got.Found, c.found) || !strings.Contains(got.Do, c.do) || (c.do == "") != (got.Do == "") {
			t.Errorf("%s: %+v, want %s, %q, %q", c.id, got, c.verdict, c.found, c.do)
		}
		if strings.Contains(got.Found+got.Do, "hunter2") {
			t.Errorf("%s: the password is shown: %+v", c.id, got)
		}
	}
}
