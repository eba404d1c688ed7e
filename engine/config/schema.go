package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

const (
	// format is the only one there is.
	format = 1
	// maxNameBytes limits names of commands and variables; their patterns say
	// the same.
	maxNameBytes = 128
)

// file reads the whole object.
func (p *parser) file(root *hujson.Value, f *File) {
	found := p.fields(root, "the file", fileKeys, false, f)
	for _, key := range fileKeys {
		if _, ok := root.Value.(*hujson.Object); ok && key.Required && !found[key.Name] {
			p.addAt(root.StartOffset, root.StartOffset+1, CodeMissing, "the key %q is missing", key.Name)
		}
	}
	if p.newer != nil {
		// The other problems may be what the newer format allows.
		p.problems = []Problem{*p.newer}
	}
}

func (p *parser) format(v *hujson.Value, f *File) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' {
		p.add(v, CodeType, "format must be a number, not %s", kindName(*v))
		return
	}
	n, err := strconv.Atoi(string(lit))
	switch {
	case err != nil || n < 1:
		p.add(v, CodeValue, "format must be %d, not %s", format, lit)
	case n > format:
		p.newer = &Problem{Start: v.StartOffset, End: v.EndOffset, Code: CodeNewer,
			Message: fmt.Sprintf("format %d was written for a newer Forklift; this one knows %d", n, format)}
	}
	f.Format = n
}

func (p *parser) source(v *hujson.Value, f *File) {
	list := p.texts(v, "source")
	if arr, ok := v.Value.(*hujson.Array); ok && len(arr.Elements) == 0 {
		p.add(v, CodeValue, `source is empty: name what a capture saves, or ["."] for the whole worktree`)
	}
	var paths []string
	for _, s := range list {
		clean, problem, code := cleanSource(s.text)
		if problem == "" {
			problem, code = overlap(clean, paths)
		}
		if problem != "" {
			p.add(s.at, code, "source %q: %s", s.text, problem)
			continue
		}
		paths = append(paths, clean)
	}
	f.Source = paths
}

func (p *parser) ignore(v *hujson.Value, f *File) {
	for _, s := range p.texts(v, "ignore") {
		if strings.TrimSpace(s.text) == "" || strings.ContainsAny(s.text, "\n\x00") {
			p.add(s.at, CodeValue, "ignore: a pattern is one line that is not empty")
			continue
		}
		f.Ignore = append(f.Ignore, s.text)
	}
}

func (p *parser) gitignored(v *hujson.Value, f *File) {
	s, ok := p.text(v, "gitignored")
	if ok && s != Skip && s != Include {
		p.add(v, CodeValue, "gitignored must be %q or %q, not %q", Skip, Include, s)
		return
	}
	if ok {
		f.Gitignored = s
	}
}

func (p *parser) connectionEnv(v *hujson.Value, f *File) {
	s, ok := p.text(v, "connection_env")
	if !ok {
		return
	}
	if !variablePattern.MatchString(s) {
		p.add(v, CodeValue, "connection_env %q is not the name of an environment variable", s)
		return
	}
	f.ConnectionEnv = s
}

func (p *parser) commands(v *hujson.Value, f *File) {
	f.Commands = map[string][]string{}
	p.members(v, "commands", func(name string, at, value *hujson.Value) {
		if !commandPattern.MatchString(name) {
			p.add(at, CodeValue, "%q cannot be the name of a command: use up to %d letters, digits and . _ - : /, not beginning with -", name, maxNameBytes)
		}
		f.Commands[name] = p.argv(value, "command "+strconv.Quote(name))
	})
}

// argv reads a program and its arguments.
func (p *parser) argv(v *hujson.Value, what string) []string {
	before := len(p.problems)
	list := p.texts(v, what)
	if len(p.problems) > before {
		return nil
	}
	if len(list) == 0 || list[0].text == "" {
		p.add(v, CodeValue, "%s must begin with a program", what)
		return nil
	}
	var argv []string
	for _, s := range list {
		if strings.ContainsRune(s.text, 0) {
			p.add(s.at, CodeValue, "%s: an argument cannot hold a NUL character", what)
		}
		argv = append(argv, s.text)
	}
	return argv
}

func (p *parser) hooks(v *hujson.Value, f *File) {
	p.fields(v, "hooks", hookKeys, false, f)
}

// seconds reads a span of whole seconds, from one to longest.
func (p *parser) seconds(v *hujson.Value, what string, longest time.Duration) time.Duration {
	lit, ok := v.Value.(hujson.Literal)
	n, err := strconv.Atoi(string(lit))
	if !ok || err != nil || n < 1 || n > int(longest/time.Second) {
		p.add(v, CodeValue, "%s must be a number from 1 to %d", what, int(longest/time.Second))
	}
	return time.Duration(n) * time.Second
}

func (p *parser) database(v *hujson.Value, f *File) {
	p.fields(v, "database", databaseKeys, true, f) // the kind's own settings: it checks them
	f.Database.Settings = p.raw(v)
}

func (p *parser) supabase(v *hujson.Value, f *File) {
	p.members(v, "supabase", func(string, *hujson.Value, *hujson.Value) {})
	f.Supabase = p.raw(v)
}

// raw is the text of a value.
func (p *parser) raw(v *hujson.Value) json.RawMessage {
	return json.RawMessage(p.data[v.StartOffset:v.EndOffset])
}
