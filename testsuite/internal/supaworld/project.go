package supaworld

import (
	"embed"
	"io/fs"
)

//go:embed all:project
var project embed.FS

// Fixture is a small project: a config.toml as `supabase init` leaves it in
// what counts, two migrations (notes, which only their owner sees, and a bucket
// for files), roles.sql, seed.sql and a source file. It lacks the lock, which
// Hub.Project adds.
func Fixture() (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(project, "project", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := project.ReadFile(name)
		files[name[len("project/"):]] = string(text)
		return err
	})
	return files, err
}
