package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Name is the file's name in a worktree.
const Name = ".forklift.json"

// MaxBytes limits the size of a configuration file.
const MaxBytes = 1 << 20

// DefaultConnectionEnv is the variable used when the file names none.
const DefaultConnectionEnv = "DATABASE_URL"

// The values of File.Gitignored.
const (
	Skip    = "skip"    // files that git ignores are not saved
	Include = "include" // they are
)

// DefaultHookLimit is how long a hook may take when the file does not say.
const DefaultHookLimit = time.Minute

// MaxHookLimit is the longest time that the file can say: commands and other
// operations wait meanwhile.
const MaxHookLimit = time.Hour

// File is the content of a .forklift.json, checked, with defaults filled in.
type File struct {
	Format        int                 // 1
	Source        []string            // clean relative paths that do not overlap
	Ignore        []string            // gitignore patterns
	Gitignored    string              // Skip or Include
	ConnectionEnv string              // name of an environment variable
	Commands      map[string][]string // name to program and arguments
	Hooks         Hooks
	Database      Database
	Supabase      json.RawMessage // nil when absent
	Content       []byte          // the file's own bytes: what trust is bound to
}

// Hooks are commands around an operation: program and arguments, nil for none.
type Hooks struct {
	Stop  []string      // before the database is stopped
	Start []string      // after it runs again
	Limit time.Duration // how long each may take
}

// Database says which kind of database the worktree has.
type Database struct {
	Kind     string          // "" is the default kind
	Settings json.RawMessage // the whole object, `kind` included; nil when absent
}

// Selection says which files of a worktree are saved.
type Selection struct {
	Source     []string // clean relative paths; "." is the whole worktree
	Ignore     []string // gitignore patterns
	Gitignored string   // Skip or Include
}

// Selection is the part of the file that says what is saved.
func (f *File) Selection() Selection {
	return Selection{Source: f.Source, Ignore: f.Ignore, Gitignored: f.Gitignored}
}

// Options is the object at the top of the file that has the name of a database
// kind, nil without one.
func (f *File) Options(kind string) json.RawMessage {
	if kind == supabaseKey {
		return f.Supabase
	}
	return nil
}

// Runs reports whether anything in the file could be run.
func (f *File) Runs() bool {
	return len(f.Commands) > 0 || len(f.Hooks.Stop) > 0 || len(f.Hooks.Start) > 0
}

// Load reads and parses the file at path, a name of fsys. A symbolic link in
// its place is not followed. Kinds: NotFound when it is absent, Usage for its
// problems, Unsupported for a newer format.
func Load(fsys vfs.FS, path string) (*File, error) {
	data, err := durable.ReadFile(fsys, path, MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fault.Error{Op: "read configuration", Path: path, Kind: fault.NotFound, Err: errors.New("there is no " + Name), Hint: "`forklift setup` makes one for you to review."}
	case err != nil:
		return nil, &fault.Error{Op: "read configuration", Path: path, Kind: fault.Usage, Err: err, Hint: "It must be a regular file of at most 1 MiB that you may read."}
	}
	return Parse(path, data)
}

// Parse reads the text of a .forklift.json. The error has kind Usage, or
// Unsupported for a newer format; its Items are the problems, each
// "name:line:column: what is wrong", in the order of the text. name is only
// for messages.
func Parse(name string, data []byte) (*File, error) {
	p := &parser{name: name, data: data}
	root, ok := p.syntax()
	if !ok {
		return nil, p.err()
	}
	f := newFile(data)
	p.file(root, f)
	if err := p.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// newFile is a file with the defaults.
func newFile(data []byte) *File {
	return &File{Gitignored: Skip, ConnectionEnv: DefaultConnectionEnv, Content: data, Hooks: Hooks{Limit: DefaultHookLimit}}
}
