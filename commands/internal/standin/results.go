package standin

import (
	"encoding/json"
	"time"

	"forklift/commands"
	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage"
)

// Now is what the clock of a test tells at first.
var Now = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// ConfigText is the file that Setup made.
const ConfigText = "{\n  \"format\": 1,\n  \"source\": [\"src\"]\n}\n"

func (e *Engine) info() engine.WorktreeInfo {
	path := e.Path
	if path == "" {
		path = "/srv/invoices"
	}
	return engine.WorktreeInfo{
		ID: "01jbwt", Name: "invoices", Project: "01jbpr", Path: path, Store: "/srv/store", Branch: "01jbbr", Kind: "postgres",
		Created: Now.Add(-48 * time.Hour),
	}
}

// CaptureResult is what a capture answers.
func CaptureResult() *engine.CaptureResult {
	return &engine.CaptureResult{
		ID: "01jbc1", Name: "main-20270301-120000", Files: 1234, SourceBytes: 310 << 10, Databases: 1, DataBytes: 32 << 20,
		ReadBytes: 1 << 20, AddedBytes: 96 << 10, AwayMs: 120, WallMs: 312, Sessions: 2,
		Skipped:  []engine.Skipped{{Path: "src/vendor/lib", Reason: "repository"}},
		Warnings: []string{"pg_replslot has entries: all of pg_wal is kept"},
	}
}

// RestoreResult is what a restore, undo or redo answers.
func RestoreResult(verb string) *engine.RestoreResult {
	return &engine.RestoreResult{
		Verb: verb, ID: "01jbc1", Name: "before-migration", SafetyID: "01jbc2", SafetyName: "safety-20270301-120000",
		Changed: 3, Removed: 1, Kept: 38, PatchedBytes: 1200 << 10, Running: true, AwayMs: 150, WallMs: 420,
		Rescued: []string{"src/a b\n.txt"}, RescueName: "rescue-20270301-120000",
	}
}

// Checkpoints is a list with every sort of row.
func Checkpoints() []engine.Checkpoint {
	return []engine.Checkpoint{
		{
			ID: "01jbc3", Name: "after", Worktree: "invoices", Kind: storage.Capture, Created: Now.Add(-3 * time.Minute), Note: "tests pass\nall",
			Actor: "cli", GitBranch: "main", Files: 1236, LogicalBytes: 34 << 20, OwnBytes: 96 << 10, SharedBytes: 5 << 20, Current: true,
		},
		{
			ID: "01jbc2", Name: "safety-20270301-110000", Worktree: "invoices", Kind: storage.Safety, Created: Now.Add(-time.Hour),
			Reason: "before restore of before-migration", Actor: "cli", Files: 12, LogicalBytes: 34 << 20, SharedBytes: 5 << 20,
		},
		{
			ID: "01jbc1", Name: "before-migration", Worktree: "other", Kind: storage.Capture, Created: Now.Add(-26 * time.Hour),
			Actor: "lsp", GitBranch: "feature/\x1b[31m", Files: 12, LogicalBytes: 33 << 20, OwnBytes: 1 << 20, SharedBytes: 5 << 20,
		},
	}
}

// Detail is a checkpoint with everything.
func Detail() *engine.CheckpointDetail {
	c := Checkpoints()[0]
	c.Head = "0123456789abcdef0123456789abcdef01234567"
	facts := json.RawMessage(`{"version":"17.12","architecture":"amd64","observed":{"databases":[` +
		`{"name":"app","encoding":"UTF8","locale":"C.UTF-8","extensions":{"vector":"0.8.0","plpgsql":"1.0"}}]}}`)
	return &engine.CheckpointDetail{
		Checkpoint: c, Facts: []json.RawMessage{facts},
		Pair: &storage.Pair{
			ID: c.ID, Name: c.Name, Kind: c.Kind, Created: c.Created, Actor: c.Actor,
			Source: storage.SourceState{Paths: []string{"src", "migrations"}, Files: 1236, Bytes: 310 << 10},
			Databases: []storage.DatabaseState{{
				Kind: "postgres", State: "clean", Facts: facts,
				Trees: []storage.TreeState{{Name: "pgdata", Files: 970, Bytes: 32 << 20}},
			}},
		},
	}
}

// StatusResult is a worktree with changes of every sort.
func StatusResult(info engine.WorktreeInfo) *engine.StatusResult {
	c := Checkpoints()[0]
	return &engine.StatusResult{
		Worktree: info, Checkpoint: &c, AgeSeconds: 180, Source: []string{"src", "migrations"},
		Files: []engine.FileChange{
			{Path: "src/app.py", Change: "modified"}, {Path: "src/new.py", Change: "added"},
			{Path: "src/old\n.py", Change: "removed"}, {Path: "src/run.sh", Change: "mode"},
		},
		FileCount: 4, FilesKnown: true,
		Tables:   []engine.TableChange{{Database: "app", Table: "public.invoices", Inserted: 3, Updated: 1}},
		RowCount: 4, RowsKnown: true, Server: Server(),
		Holders: []engine.HolderInfo{{PID: 4242, Argv: []string{"npm", "run", "dev"}, Since: Now.Add(-10 * time.Minute)}},
		Trusted: false,
	}
}

// Server is a server that runs.
func Server() engine.ServerInfo {
	return engine.ServerInfo{State: "running", PID: 4200, Since: Now.Add(-11 * time.Minute), Version: "17.12"}
}

// Operations is a log with every outcome.
func Operations() []engine.Operation {
	return []engine.Operation{
		{ID: "4", Verb: "restore", Actor: "cli", Started: Now.Add(-time.Minute), Name: "after"},
		{ID: "3", Verb: "restore", Actor: "cli", Started: Now.Add(-time.Hour), Outcome: "back", Name: "before-migration", Error: "interrupted"},
		{ID: "2", Verb: "capture", Actor: "lsp", Started: Now.Add(-2 * time.Hour), Outcome: "failed", Name: "x", Error: "src/secret: permission denied"},
		{ID: "1", Verb: "capture", Actor: "cli", Started: Now.Add(-26 * time.Hour), Outcome: "done", Name: "before-migration"},
	}
}

// Vars are the variables of a managed command.
func Vars() []engine.EnvVar {
	return []engine.EnvVar{
		{Name: "DATABASE_URL", Value: "postgres://postgres@/app?host=/run/f%271&port=5432", Secret: true},
		{Name: "PGHOST", Value: "/run/f'1"}, {Name: "PGPORT", Value: "5432"},
		{Name: "PGUSER", Value: "postgres"}, {Name: "PGDATABASE", Value: "app"},
		{Name: "PGSERVICE", Unset: true},
	}
}

// Seeds are two seeds.
func Seeds() []engine.SeedInfo {
	return []engine.SeedInfo{
		{Name: "demo", ID: "01jbs1", Created: Now.Add(-time.Hour), LogicalBytes: 32 << 20, AddedBytes: 5 << 20, UsedBy: []string{"invoices", "other"}},
		{Name: "empty", ID: "01jbs2", Created: Now.Add(-2 * time.Hour), LogicalBytes: 30 << 20, AddedBytes: 4 << 20},
	}
}

// Installations are two that were found and one that is too old.
func Installations() []commands.Installation {
	return []commands.Installation{
		{Used: true, Installation: postgres.Installation{
			Bin: "/opt/pg17/bin", Version: "17.12", Major: 17, Found: "FORKLIFT_PG_BIN", Usable: true,
			Why:        "its JIT library needs an LLVM that is not here; servers run with jit=off",
			Extensions: []postgres.Extension{{Name: "pg_trgm", Version: "1.6"}, {Name: "vector", Version: "0.8.0"}},
		}},
		{Installation: postgres.Installation{Bin: "/srv/cache/native/bin", Version: "17.10", Major: 17, Found: "embedded", Usable: true}},
		{Installation: postgres.Installation{
			Bin: "/usr/lib/postgresql/15/bin", Version: "15.9", Major: 15, Found: "Debian", Why: "is version 15.9; 16 to 18 can be used",
		}},
	}
}
