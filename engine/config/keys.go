package config

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/tailscale/hujson"
)

// Type is what the value of a key must be.
type Type string

// The types.
const (
	Number   Type = "number"   // a whole one, from Key.Min to Key.Max
	Text     Type = "text"     // a string
	Texts    Type = "texts"    // an array of strings
	Paths    Type = "paths"    // an array of paths in the worktree
	Argv     Type = "argv"     // a program and its arguments, an array of strings
	Commands Type = "commands" // an object: name to Argv
	Names    Type = "names"    // an object: name to string
	Object   Type = "object"   // an object with Key.Keys
)

// Key describes a key of a .forklift.json. The same table reads the file,
// tells editors what a key means, and becomes the JSON schema.
type Key struct {
	Name     string
	Type     Type
	Doc      string // sentences, in Markdown
	Required bool
	Default  string   // what counts when the key is not there, as JSON; "" for nothing
	Values   []string // of Text, or of what Texts holds: the only ones there are
	Pattern  string   // of Text: what it must match; of Commands and Names: what names must
	Min, Max int      // of Number
	Example  string   // a value to begin with, as JSON
	Keys     []Key    // of Object
	Open     bool     // of Object: further keys are somebody else's to check

	read func(*parser, *hujson.Value, *File)
}

// Kind describes a database kind to whoever helps with the file.
type Kind struct {
	Name string
	Doc  string // one sentence
	Keys []Key  // of its own in the object database, beside kind
	// Check says what is wrong with that object; nil for nothing.
	Check func(settings json.RawMessage) error
	// Own are the keys of the object at the top of the file that has the
	// kind's name, and CheckOwn is Check for that object; nil for a kind
	// without one.
	Own      []Key
	CheckOwn func(options json.RawMessage) error
}

const (
	variableText = `^[A-Za-z_][A-Za-z0-9_]{0,127}$`
	commandText  = `^[A-Za-z0-9._:/][A-Za-z0-9._:/-]{0,127}$`
)

var (
	variablePattern = regexp.MustCompile(variableText)
	commandPattern  = regexp.MustCompile(commandText)
)

// Keys are the keys of the file, in the order in which it is usually written.
func Keys() []Key { return fileKeys }

var fileKeys = []Key{
	{Name: "format", Type: Number, Required: true, Min: format, Max: format, Example: "1", read: (*parser).format,
		Doc: "The format of this file: 1. A newer Forklift may write a higher number, which this one refuses."},
	{Name: "source", Type: Paths, Required: true, Example: `["src"]`, read: (*parser).source,
		Doc: "The files and directories that a checkpoint saves and a restore puts back, relative to the worktree. `[\".\"]` is all of it. " +
			"Paths must not overlap; links are saved as links and never followed. Git's own files are never saved."},
	{Name: "ignore", Type: Texts, Example: `["*.log"]`, read: (*parser).ignore,
		Doc: "Patterns as in `.gitignore`, relative to the worktree. What they match is not saved, and a restore leaves it alone."},
	{Name: "gitignored", Type: Text, Default: `"skip"`, Values: []string{Skip, Include}, read: (*parser).gitignored,
		Doc: "Whether files that git ignores are left out (`skip`) or saved too (`include`)."},
	{Name: "connection_env", Type: Text, Default: `"` + DefaultConnectionEnv + `"`, Pattern: variableText, read: (*parser).connectionEnv,
		Doc: "The environment variable in which `forklift run` gives commands the address of the worktree's database."},
	{Name: "commands", Type: Commands, Pattern: commandText, Example: `{"test": ["make", "test"]}`, read: (*parser).commands,
		Doc: "What `forklift run NAME` starts: a program and its arguments, without a shell, in the worktree. It runs only after you approved this file with `forklift trust`."},
	{Name: "hooks", Type: Object, Keys: hookKeys, Example: `{"stop": ["make", "stop"], "start": ["make", "start"]}`, read: (*parser).hooks,
		Doc: "Programs that stop a long-running app before its database is captured or replaced, and start it afterwards. They run only after you approved this file with `forklift trust`."},
	{Name: "database", Type: Object, Open: true, Keys: databaseKeys, Example: `{"kind": "postgres"}`, read: (*parser).database,
		Doc: "Which kind of database the worktree has, and the settings of that kind."},
	{Name: supabaseKey, Type: Object, Open: true, Example: "{}", read: (*parser).supabase,
		Doc: "Settings of a local Supabase stack: names of variables and excluded services."},
}

// supabaseKey is the key of File.Supabase.
const supabaseKey = "supabase"

var hookKeys = []Key{
	{Name: "stop", Type: Argv, Example: `["make", "stop"]`,
		Doc:  "A program and its arguments, without a shell: it stops the app before an operation.",
		read: func(p *parser, v *hujson.Value, f *File) { f.Hooks.Stop = p.argv(v, "hook stop") }},
	{Name: "start", Type: Argv, Example: `["make", "start"]`,
		Doc:  "A program and its arguments, without a shell: it starts the app after the operation. What it leaves running goes on.",
		read: func(p *parser, v *hujson.Value, f *File) { f.Hooks.Start = p.argv(v, "hook start") }},
	{Name: "timeout_seconds", Type: Number, Min: 1, Max: int(MaxHookLimit.Seconds()), Default: fmt.Sprint(int(DefaultHookLimit.Seconds())),
		Doc: "How long each hook may take, in seconds. One that takes longer is killed.",
		read: func(p *parser, v *hujson.Value, f *File) {
			f.Hooks.Limit = p.seconds(v, "timeout_seconds", MaxHookLimit)
		}},
}

var databaseKeys = []Key{
	{Name: "kind", Type: Text, Doc: "The kind of the database. It is chosen at setup.",
		read: func(p *parser, v *hujson.Value, f *File) {
			s, ok := p.text(v, "kind")
			if ok && s == "" {
				p.add(v, CodeValue, "kind is empty")
			}
			f.Database.Kind = s
		}},
}
