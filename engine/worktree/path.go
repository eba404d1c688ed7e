package worktree

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// QuotePath writes a path for JSON and for people: as it is, or, when it is
// not UTF-8, holds what cannot be seen, or begins with a quote, as a quoted string
// with Go's escapes. UnquotePath reads both back exactly.
func QuotePath(p string) string {
	plain := utf8.ValidString(p) && !strings.HasPrefix(p, `"`)
	for _, r := range p {
		plain = plain && strconv.IsPrint(r)
	}
	if plain {
		return p
	}
	return strconv.Quote(p)
}

// UnquotePath reads what QuotePath wrote.
func UnquotePath(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	p, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("read path %s: %w", s, err)
	}
	return p, nil
}

// comparePaths orders paths as manifests do: by bytes, with '/' lowest, so that
// a directory is followed by what is in it; "." is first.
func comparePaths(a, b string) int {
	if a == "." || b == "." {
		return boolOrder(b == ".", a == ".")
	}
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' {
			return -1
		}
		if b[i] == '/' || a[i] > b[i] {
			return 1
		}
		return -1
	}
	return len(a) - len(b)
}

// boolOrder is 0 for equal values, 1 when only the first is true, else -1.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// parentOf is the directory that holds p; "." for a top-level name.
func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return "."
}

// below reports that p is inside the directory dir, not dir itself.
func below(p, dir string) bool {
	if dir == "." {
		return p != "."
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}

// prefixes calls fn with each directory that leads to p, from the top down,
// without "." and p itself, until fn returns false.
func prefixes(p string, fn func(dir string) bool) {
	for i := 0; i < len(p); i++ {
		if p[i] == '/' && !fn(p[:i]) {
			return
		}
	}
}
