package supabase

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	deps := func(path string) Deps {
		return Deps{FS: vfs.OS(), Clock: clock.System{}, Environ: []string{"PATH=" + path, accountVariable + "=somebody"}}
	}
	look := func(path, settings string) *Examination {
		var raw []byte
		if settings != "" {
			raw = []byte(settings)
		}
		return Examine(context.Background(), deps(path), dir, raw)
	}
	if x := look("", ""); x != nil {
		t.Errorf("without a project: %+v", x)
	}
	if x := look("", `{"kind": "supabase"}`); x == nil || fault.KindOf(x.ProjectErr) != fault.NotFound {
		t.Errorf("without the project that is asked for: %+v", x)
	}
	write(t, dir, map[string]string{"supabase/config.toml": "[db]\nport = 1\nmajor_version = 14\n"})
	if x := look("", `{"kind": "postgres"}`); x != nil {
		t.Errorf("a project whose database is of another kind: %+v", x)
	}
	x := look("/nowhere", "")
	if x == nil || x.Project != dir || fault.KindOf(x.ProgramErr) != fault.NotFound || len(x.Refused) != 1 {
		t.Errorf("without a CLI: %+v", x)
	}

	// The repository's own is not run.
	write(t, dir, map[string]string{"node_modules/.bin/supabase": "#!/bin/sh\necho >> " + asked + "\n", "node_modules/supabase/package.json": `{"version": "2.117.0"}`,
		"supabase/config.toml": "[db]\nmajor_version = 17\n"})
	ok(t, os.Chmod(filepath.Join(dir, "node_modules/.bin/supabase"), 0o755))
	if x = look("/nowhere", ""); x.Version != "2.117.0" || fault.KindOf(x.ProgramErr) != fault.Unsupported {
		t.Errorf("a CLI without stacks: %+v", x)
	}
	if _, err := os.Stat(asked); !os.IsNotExist(err) {
		t.Errorf("a program of the repository was run: %v", err)
	}
	if x = look(filepath.Dir(script(t, "echo 3.9.0").Path), ""); x.ProgramErr != nil || x.Untested == "" || x.ConfigErr != nil || x.Refused != nil {
		t.Errorf("a newer CLI: %+v", x)
	}
}
