package configls

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"forklift/engine/config"

	"github.com/tailscale/hujson"
	"go.lsp.dev/protocol"
)

// top is the value of a key of the file; nil when there is none.
func (d *diagnosis) top(name string) *hujson.ObjectMember {
	if obj, ok := d.root.Value.(*hujson.Object); ok {
		return member(obj, name)
	}
	return nil
}

// texts are the strings of an array, each with its place; those that the
// parser has refused are left out.
func (d *diagnosis) texts(v *hujson.Value) (list []*hujson.Value) {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	for i := range arr.Elements {
		e := &arr.Elements[i]
		if lit, ok := e.Value.(hujson.Literal); ok && lit.Kind() == '"' && !d.bad[e.StartOffset] {
			list = append(list, e)
		}
	}
	return list
}

func textOf(v *hujson.Value) string { return v.Value.(hujson.Literal).String() }

// sources looks at the source paths on the disk.
func (d *diagnosis) sources() {
	m := d.top("source")
	if m == nil || d.place.Root == "" {
		return
	}
	for _, v := range d.texts(&m.Value) {
		d.source(v, path.Clean(textOf(v)))
	}
}

// source looks at one path. Links on the way to it are not followed: a
// capture refuses them.
func (d *diagnosis) source(v *hujson.Value, rel string) {
	names := strings.Split(rel, "/")
	for i := range names {
		lead := strings.Join(names[:i+1], "/")
		info, err := os.Lstat(filepath.Join(d.place.Root, lead))
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 && i+1 < len(names):
			d.missing(v, rel)
			return
		case err != nil:
			return // a capture names it
		case info.Mode()&fs.ModeSymlink != 0 && i+1 < len(names):
			d.add(v.StartOffset, v.EndOffset, protocol.DiagnosticSeverityError, codeLink,
				fmt.Sprintf("%q is a symbolic link: name the real path. Links are saved as links and never followed.", lead), d.realPath(v, rel)...)
			return
		case info.IsDir() && rel != "." && exists(filepath.Join(d.place.Root, lead, ".git")):
			d.add(v.StartOffset, v.EndOffset, protocol.DiagnosticSeverityWarning, codeRepository,
				fmt.Sprintf("%q is another git repository: nothing of it is saved.", lead), d.remove(v.StartOffset, "Remove it")...)
			return
		}
	}
	store, err := filepath.Rel(d.place.Root, d.place.Store)
	if d.place.Store == "" || err != nil || !filepath.IsLocal(store) {
		return
	}
	if config.Within(store, rel) || config.Within(rel, store) {
		d.add(v.StartOffset, v.EndOffset, protocol.DiagnosticSeverityWarning, codeStore,
			fmt.Sprintf("Forklift's store %s is in the way: it is left out of checkpoints.", d.place.Store))
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// missing records a source that does not exist.
func (d *diagnosis) missing(v *hujson.Value, rel string) {
	var fixes []Fix
	dir, base := path.Split(rel)
	if near := config.Near(base, entries(d.place.Root, path.Clean(dir))); near != "" {
		fixes = append(fixes, d.replace(fmt.Sprintf("Change it to %q", dir+near), v.StartOffset, v.EndOffset, strconv.Quote(dir+near)))
	}
	fixes = append(fixes, d.remove(v.StartOffset, "Remove it")...)
	d.add(v.StartOffset, v.EndOffset, protocol.DiagnosticSeverityWarning, codeMissingPath,
		fmt.Sprintf("%q does not exist. A checkpoint records that, and a restore removes what is there then.", rel), fixes...)
}

// realPath names what is behind a link, where that is in the worktree.
func (d *diagnosis) realPath(v *hujson.Value, rel string) []Fix {
	root, err := filepath.EvalSymlinks(d.place.Root)
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, rel))
	if err != nil {
		return nil
	}
	to, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(to) {
		return nil
	}
	return []Fix{d.replace(fmt.Sprintf("Change it to %q", filepath.ToSlash(to)), v.StartOffset, v.EndOffset, strconv.Quote(filepath.ToSlash(to)))}
}

// database looks at the kind and has it check its settings.
func (d *diagnosis) database() {
	m := d.top("database")
	if m == nil {
		return
	}
	obj, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return
	}
	kind := firstKind(d.place.Kinds)
	if k := member(obj, "kind"); k != nil {
		lit, ok := k.Value.Value.(hujson.Literal)
		if !ok || lit.Kind() != '"' || d.bad[k.Value.StartOffset] {
			return
		}
		if kind = kindOf(d.place.Kinds, lit.String()); kind == nil {
			var fixes []Fix
			for _, one := range d.place.Kinds {
				fixes = append(fixes, d.replace(fmt.Sprintf("Change it to %q", one.Name), k.Value.StartOffset, k.Value.EndOffset, strconv.Quote(one.Name)))
			}
			d.add(k.Value.StartOffset, k.Value.EndOffset, protocol.DiagnosticSeverityError, codeKind,
				fmt.Sprintf("This Forklift knows no database kind %q.", lit.String()), fixes...)
			return
		}
	}
	if kind != nil {
		d.settings(&m.Value, obj, kind)
	}
}

// options looks at the objects that have the names of kinds.
func (d *diagnosis) options() {
	for i := range d.place.Kinds {
		kind := &d.place.Kinds[i]
		m := d.top(kind.Name)
		if m == nil || kind.CheckOwn == nil {
			continue
		}
		if obj, ok := m.Value.Value.(*hujson.Object); ok {
			d.object(&m.Value, obj, kind.Name, kind.Own, kind.CheckOwn)
		}
	}
}

// settings looks at the keys of a database kind.
func (d *diagnosis) settings(v *hujson.Value, obj *hujson.Object, kind *config.Kind) {
	keys := append([]config.Key{{Name: "kind"}}, kind.Keys...)
	d.object(v, obj, kind.Name, keys, kind.Check)
}

// object looks at an object of a kind: its keys, and what the kind's own check
// says of it.
func (d *diagnosis) object(v *hujson.Value, obj *hujson.Object, kind string, keys []config.Key, check func(json.RawMessage) error) {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
	}
	unknown := false
	for i := range obj.Members {
		at := &obj.Members[i].Name
		name := textOf(at)
		if slices.Contains(names, name) {
			continue
		}
		unknown = true
		p := config.Problem{Start: at.StartOffset, End: at.EndOffset, Code: config.CodeUnknown, Near: config.Near(name, names),
			Message: fmt.Sprintf("the database kind %q has no key %q", kind, name)}
		d.problem(p)
	}
	if unknown || check == nil {
		return
	}
	if err := check([]byte(d.text[v.StartOffset:v.EndOffset])); err != nil {
		cause := err
		for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
			cause = next
		}
		d.add(v.StartOffset, v.EndOffset, protocol.DiagnosticSeverityError, string(config.CodeValue), sentence(cause.Error()))
	}
}

// programs looks for the programs of commands and hooks, and for the user's
// approval of them.
func (d *diagnosis) programs(f *config.File) {
	for _, name := range []string{"commands", "hooks"} {
		m := d.top(name)
		if m == nil {
			continue
		}
		obj, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		for i := range obj.Members {
			if argv := d.texts(&obj.Members[i].Value); len(argv) > 0 {
				d.program(argv[0])
			}
		}
		if f.Runs() && len(obj.Members) > 0 {
			d.approval(m, name)
		}
	}
}

func (d *diagnosis) program(v *hujson.Value) {
	if d.place.Program == nil || textOf(v) == "" {
		return
	}
	if err := d.place.Program(textOf(v)); err != nil {
		d.add(v.StartOffset, v.EndOffset, protocol.DiagnosticSeverityWarning, codeNoProgram,
			fmt.Sprintf("%q could not be started: %s.", textOf(v), strings.TrimSuffix(err.Error(), ".")))
	}
}

// approval records that commands or hooks are not approved.
func (d *diagnosis) approval(m *hujson.ObjectMember, name string) {
	what := map[string]string{"commands": "`forklift run` refuses these commands", "hooks": "captures and restores are refused, unless told to leave the app alone,"}[name]
	switch {
	case d.place.Unsaved:
		// What is approved is a file: the text counts when it is saved.
	case d.place.Approved == nil || d.place.Approved():
	default:
		d.add(m.Name.StartOffset, m.Name.EndOffset, protocol.DiagnosticSeverityWarning, codeUntrusted,
			"Not approved in this worktree: "+what+" until you trust this configuration.", Fix{Title: "Trust this configuration", Trust: true})
	}
}

// sort puts the findings into the order of the text.
func (d *diagnosis) sort() {
	sort.SliceStable(d.list, func(i, k int) bool {
		a, b := d.list[i].Range.Start, d.list[k].Range.Start
		return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
	})
}
