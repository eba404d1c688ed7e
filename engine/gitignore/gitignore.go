// Package gitignore matches paths against patterns as gitignore(5) defines
// them, for the `ignore` list of .forklift.json and for the ignore files that
// a checkpoint holds.
//
// It follows git's own rules, which the tests check against git itself: the
// last pattern that matches decides, `!` takes back, a pattern with a slash in
// front or in the middle is anchored at the top, one with a slash at the end
// matches directories only, `**` crosses directories. What is below an
// excluded directory is excluded, and `!` cannot bring it back. As in git, the
// text of an anchored pattern ahead of its first wildcard is compared on its
// own, so a `**` behind it begins a pattern: `x**/y` takes `x/a/y` and `xy`
// too, which the manual page does not say. The libraries
// that were looked at differ from git in `[!a]`, `[[:alpha:]]` and `a/**`.
package gitignore

import "strings"

// pattern is one line, parsed.
type pattern struct {
	literal string // what an anchored path must begin with, ahead of glob
	glob    string
	negate  bool // takes back what earlier ones exclude
	dirOnly bool // matches directories only
	base    bool // without a slash: compared with the last element only
}

// Matcher holds a list of patterns. It does not change and may be used from
// several goroutines.
type Matcher struct{ patterns []pattern }

// New makes a Matcher. Each string is a line of a .gitignore file; empty
// lines and comments match nothing.
func New(lines []string) *Matcher {
	m := &Matcher{}
	for _, line := range lines {
		if p, ok := parse(line); ok {
			m.patterns = append(m.patterns, p)
		}
	}
	return m
}

// parse reads one line.
func parse(line string) (pattern, bool) {
	line = trimSpaces(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return pattern{}, false
	}
	var p pattern
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly, line = true, line[:len(line)-1]
	}
	p.base = !strings.Contains(line, "/")
	p.glob = strings.TrimPrefix(line, "/")
	if n := strings.IndexAny(p.glob, "*?[\\"); n > 0 && !p.base {
		p.literal, p.glob = p.glob[:n], p.glob[n:]
	}
	return p, true
}

// trimSpaces removes spaces at the end, unless a backslash protects them.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++ // the next one counts, whatever it is
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// Read makes a Matcher of the text of an ignore file.
func Read(text string) *Matcher {
	return New(strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n"))
}

// Match reports whether the patterns exclude the path itself: relative,
// slash-separated. What its directories are is not asked.
func (m *Matcher) Match(path string, dir bool) bool {
	excluded, _ := m.Decide(path, dir)
	return excluded
}

// Decide is Match that also tells whether any pattern matched: where several
// files of patterns speak about a path, the first that decides counts.
func (m *Matcher) Decide(path string, dir bool) (excluded, decided bool) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(m.patterns) - 1; i >= 0; i-- {
		p := &m.patterns[i]
		if p.dirOnly && !dir {
			continue
		}
		if p.base && wild(p.glob, name, false) == match || !p.base && p.anchored(path) {
			return !p.negate, true
		}
	}
	return false, false
}

// anchored reports whether a pattern with a slash matches the path.
func (p *pattern) anchored(path string) bool {
	rest, ok := strings.CutPrefix(path, p.literal)
	return ok && wild(p.glob, rest, true) == match
}

// Excluded reports whether the path, or a directory that it is in, is
// excluded.
func (m *Matcher) Excluded(path string, dir bool) bool {
	if len(m.patterns) == 0 {
		return false
	}
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && m.Match(path[:i], true) {
			return true
		}
	}
	return m.Match(path, dir)
}
