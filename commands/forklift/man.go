package main

import (
	"context"
	"path/filepath"
	"strings"

	"forklift/commands"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// ManRequest asks for the manual.
type ManRequest struct {
	Verb string `json:"verb,omitempty" arg:"[VERB]" help:"the verb; without one the page about forklift itself"`
	Word string `json:"word,omitempty" arg:"[WORD]" help:"the verb's second word, as in db start"`
	Dir  string `json:"dir,omitempty" flag:"dir" value:"DIR" complete:"path" help:"write all pages into DIR instead of printing one; what is there of them is replaced"`
}

// ManResult is a page, or says which were written.
type ManResult struct {
	Page  string   `json:"page,omitempty"`  // roff
	Dir   string   `json:"dir,omitempty"`   // where they were written
	Files []string `json:"files,omitempty"` // their names
}

// manVerb makes manual pages of the descriptors of all verbs. Only a command
// line has pages.
func (a *app) manVerb() *commands.Verb {
	return commands.NewVerb(commands.Verb{
		Name: "man", Group: commands.GroupMachine, Alone: true, Near: []string{"manual", "docs"},
		Short: "Print or write the manual pages",
		Long: `Prints the manual page of a verb in the language of man(1), or writes the pages of
all verbs into a directory. They say what --help says.`,
		Examples: []commands.Example{
			{Line: "forklift man capture | man -l -", What: "read one page"},
			{Line: "forklift man --dir ~/.local/share/man/man1", What: "install all of them for yourself"},
		},
	}, a.man)
}

func (a *app) man(_ context.Context, env commands.Env, req ManRequest) (ManResult, error) {
	about := manAbout{version: commands.Version, date: a.clock.Now().UTC().Format("2006-01-02")}
	if req.Dir == "" {
		name := strings.TrimSpace(req.Verb + " " + req.Word)
		if name == "" {
			return ManResult{Page: a.rootPage(about)}, nil
		}
		for _, v := range a.verbs() {
			if v.Name == name {
				return ManResult{Page: verbPage(v, about)}, nil
			}
		}
		return ManResult{}, unknownVerb(a.tree(), name)
	}
	if req.Verb != "" {
		return ManResult{}, &fault.Error{Op: "man", Kind: fault.Usage, Err: errDirAndVerb, Hint: "With --dir all pages are written."}
	}
	dir := req.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	result := ManResult{Dir: dir, Files: []string{}}
	disk := vfs.OS()
	if err := durable.MkdirAll(disk, dir, 0o755); err != nil {
		return result, fault.Wrap("write manual", dir, err)
	}
	pages := map[string]string{"forklift": a.rootPage(about)}
	names := []string{"forklift"}
	for _, v := range a.verbs() {
		names = append(names, pageName(v))
		pages[pageName(v)] = verbPage(v, about)
	}
	for _, name := range names {
		file := name + ".1"
		if err := durable.WriteFile(disk, filepath.Join(dir, file), []byte(pages[name]), 0o644); err != nil {
			return result, fault.Wrap("write manual", filepath.Join(dir, file), err)
		}
		result.Files = append(result.Files, file)
	}
	return result, nil
}
