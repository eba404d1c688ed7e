package config

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"unicode/utf8"

	"forklift/storage/fault"

	"github.com/tailscale/hujson"
)

// maxProblems limits how many problems are reported; a file with more is not
// one of ours.
const maxProblems = 100

// Code names a kind of problem, for programs.
type Code string

// The codes of the problems that a text has by itself.
const (
	CodeSyntax  Code = "syntax"      // not JSON, or not an object
	CodeUnknown Code = "unknown-key" // no such key
	CodeTwice   Code = "duplicate"   // a key or a path is there twice
	CodeMissing Code = "missing-key" // a key that must be there
	CodeType    Code = "type"        // a value of another type
	CodeValue   Code = "value"       // a value that cannot be
	CodeOverlap Code = "overlap"     // source paths, one in the other
	CodeOutside Code = "outside"     // a source path that is not in the worktree
	CodeNewer   Code = "newer"       // written for a newer Forklift
)

// Problem is one thing that is wrong with a text.
type Problem struct {
	Start, End int // bytes
	Code       Code
	Message    string
	Near       string // of an unknown key: the one that was probably meant; may be ""
}

// Inspect is Parse for whoever shows the problems where they are: all of
// them, in the order of the text, at most maxProblems; the file as far as it can be read,
// and the text's syntax tree, nil when it is not JSON. A file with problems is
// not to be worked with.
func Inspect(data []byte) (*File, *hujson.Value, []Problem) {
	p := &parser{data: data}
	f := newFile(data)
	root, ok := p.syntax()
	if ok {
		p.file(root, f)
	}
	p.sort()
	return f, root, p.problems[:min(len(p.problems), maxProblems)]
}

// add records a problem of a value or a name.
func (p *parser) add(v *hujson.Value, code Code, format string, args ...any) *Problem {
	return p.addAt(v.StartOffset, v.EndOffset, code, format, args...)
}

// addAt records a problem of some bytes.
func (p *parser) addAt(start, end int, code Code, format string, args ...any) *Problem {
	p.problems = append(p.problems, Problem{Start: start, End: end, Code: code, Message: fmt.Sprintf(format, args...)})
	return &p.problems[len(p.problems)-1]
}

func (p *parser) sort() {
	sort.SliceStable(p.problems, func(i, j int) bool { return p.problems[i].Start < p.problems[j].Start })
}

// position is the place of a byte offset: line and column from 1, columns in
// characters.
func position(data []byte, offset int) (line, column int) {
	offset = min(max(offset, 0), len(data))
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return 1 + bytes.Count(data[:start], []byte("\n")), 1 + utf8.RuneCount(data[start:offset])
}

// err makes one error of all problems, or nil.
func (p *parser) err() error {
	if len(p.problems) == 0 {
		return nil
	}
	p.sort()
	var items []string
	for i, pr := range p.problems {
		if i == maxProblems {
			items = append(items, fmt.Sprintf("%s: and %d more", p.name, len(p.problems)-i))
			break
		}
		line, column := position(p.data, pr.Start)
		items = append(items, fmt.Sprintf("%s:%d:%d: %s", p.name, line, column, pr.Message))
	}
	e := &fault.Error{Op: "read configuration", Path: p.name, Kind: fault.Usage, Err: errors.New(items[0]), Items: items,
		Hint: "Correct the file and try again."}
	if len(items) > 1 {
		e.Err = fmt.Errorf("%s (and %d more)", items[0], len(p.problems)-1)
	}
	if p.newer != nil {
		e.Kind, e.Hint = fault.Unsupported, "Use a newer version of forklift."
	}
	return e
}
