package supabase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
	// configName is the project's configuration, relative to its directory.
	configName = "supabase/config.toml"
	// maxDepth is how many directories below the top a project may be.
	maxDepth = 4
	// maxLooked bounds the directories that are looked at for it.
	maxLooked = 20_000
	// maxPackageBytes limits what is read of a package.json.
	maxPackageBytes = 1 << 20
)

// notProjects are directories that hold copies of other people's projects.
var notProjects = []string{"node_modules", "vendor", "dist", "build", "target", "examples", "testdata"}

// Detect tells what a new .forklift.json says for a worktree whose files hold
// supabase/config.toml, nil for any other. Of several projects the user must
// choose: that is an error of kind Usage that names them.
func Detect(_ context.Context, fsys vfs.FS, worktree string) (*config.Detected, error) {
	dirs, err := projects(fsys, worktree)
	if err != nil || len(dirs) == 0 {
		return nil, err
	}
	if len(dirs) > 1 {
		return nil, severalProjects(worktree, dirs)
	}
	return &config.Detected{Kind: kindName, Database: generatedDatabase(dirs[0]), Options: generatedOptions(fsys, worktree, dirs[0])}, nil
}

func severalProjects(worktree string, dirs []string) error {
	return &fault.Error{Op: "find Supabase project", Path: worktree, Kind: fault.Usage, Items: dirs,
		Err:  fmt.Errorf("%d directories hold %s", len(dirs), configName),
		Hint: `Choose one in .forklift.json: {"format": 1, "source": ["."], "database": {"kind": "supabase", "directory": "` + dirs[0] + `"}}.`}
}

// generatedDatabase is the object `database` of a new file.
func generatedDatabase(dir string) json.RawMessage {
	if dir == "." {
		return json.RawMessage(`{"kind": "supabase"}`)
	}
	quoted, _ := json.Marshal(dir) // a string cannot fail
	return json.RawMessage(`{"kind": "supabase", "directory": ` + string(quoted) + `}`)
}

// generatedOptions is the object `supabase` of a new file: without the services
// that nobody needs to develop, and with the names of the framework that is used.
func generatedOptions(fsys vfs.FS, worktree, dir string) json.RawMessage {
	exclude := []string{`"studio"`, `"analytics"`, `"pooler"`}
	if entries, err := fsys.ReadDir(path.Join(worktree, dir, "supabase/functions")); err != nil || len(entries) == 0 {
		exclude = append(exclude, `"functions"`)
	}
	var presets []string
	for _, name := range frameworks(fsys, path.Join(worktree, dir), worktree) {
		presets = append(presets, `"`+name+`"`)
	}
	if presets == nil {
		presets = []string{`"next"`}
	}
	return json.RawMessage(`{"exclude": [` + strings.Join(exclude, ", ") + `], "presets": [` + strings.Join(presets, ", ") + `], "env": {}}`)
}

// frameworks are the presets whose package the package.json of a directory names.
func frameworks(fsys vfs.FS, dirs ...string) []string {
	var found []string
	for _, dir := range dirs {
		data, err := durable.ReadFile(fsys, path.Join(dir, "package.json"), maxPackageBytes)
		if err != nil {
			continue
		}
		for _, p := range presets {
			if bytes.Contains(data, []byte(`"`+p.pkg+`"`)) && !slices.Contains(found, p.name) {
				found = append(found, p.name)
			}
		}
	}
	return found
}

// projects are the directories of a worktree that hold supabase/config.toml,
// relative to it, nearest to the top first. Below one no other is looked for.
func projects(fsys vfs.FS, worktree string) ([]string, error) {
	var found []string
	level, looked := []string{"."}, 0
	for depth := 0; depth <= maxDepth && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			if looked++; looked > maxLooked {
				return found, nil
			}
			if info, err := fsys.Lstat(path.Join(worktree, dir, configName)); err == nil && info.IsRegular() {
				found = append(found, dir)
				continue
			}
			below, err := directories(fsys, path.Join(worktree, dir))
			if err != nil {
				return nil, err
			}
			for _, name := range below {
				next = append(next, path.Join(dir, name))
			}
		}
		level = next
	}
	return found, nil
}

// directories are those below dir in which a project can be. One that cannot be
// read holds none.
func directories(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("find Supabase project", dir, err)
	}
	var list []string
	for _, e := range entries {
		if e.Type.IsDir() && !strings.HasPrefix(e.Name, ".") && !slices.Contains(notProjects, e.Name) {
			list = append(list, e.Name)
		}
	}
	return list, nil
}
