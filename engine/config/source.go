package config

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"forklift/storage/fault"
)

const (
	// maxPathBytes and maxElementBytes are what file systems take.
	maxPathBytes    = 4095
	maxElementBytes = 255
	// StagingPrefix begins the names of the directories in which a restore
	// prepares files, at the top of a worktree. They are never a source.
	StagingPrefix = ".forklift-staging-"
)

// Reserved reports a path element that no source file may have: `.git` in any
// spelling that some file system takes for it. Captures leave such names out
// and restores refuse them. The spellings are those that git refuses: other
// case, characters that HFS+ passes over, dots and spaces at the end and the
// short name that Windows' file systems give.
func Reserved(element string) bool {
	if !mayBeReserved(element) {
		return false
	}
	var plain strings.Builder
	for _, r := range element {
		if !passedOver(r) {
			plain.WriteRune(r)
		}
	}
	name := strings.TrimRight(plain.String(), ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// mayBeReserved is false for nearly every name, and cheap: it is asked for each
// part of each path of a scan.
func mayBeReserved(element string) bool {
	for i := range len(element) {
		if element[i] >= utf8.RuneSelf {
			return true
		}
	}
	return element != "" && (element[0] == '.' || element[0] == 'g' || element[0] == 'G')
}

// passedOver lists the code points that HFS+ ignores in names.
func passedOver(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// cleanSource gives the plain form of a source path, or says why it cannot be
// one, with the problem's code.
func cleanSource(s string) (clean, problem string, code Code) {
	switch {
	case s == "":
		return "", "it is empty", CodeValue
	case strings.ContainsRune(s, 0) || !utf8.ValidString(s):
		return "", "it is not a path", CodeValue
	case strings.HasPrefix(s, `"`):
		return "", "a path that begins with a quote cannot be a source; name the directory that it is in", CodeValue
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~/"):
		return "", "it must be relative to the worktree", CodeOutside
	}
	for _, e := range strings.Split(s, "/") {
		switch {
		case e == "..":
			return "", `it leaves the worktree ("..")`, CodeOutside
		case Reserved(e):
			return "", "git's own files are never saved", CodeValue
		case len(e) > maxElementBytes:
			return "", fmt.Sprintf("a name of more than %d bytes", maxElementBytes), CodeValue
		}
	}
	clean = path.Clean(s)
	if strings.HasPrefix(clean, StagingPrefix) {
		return "", "it is Forklift's own", CodeValue
	}
	if len(clean) > maxPathBytes {
		return "", fmt.Sprintf("longer than %d bytes", maxPathBytes), CodeValue
	}
	return clean, "", ""
}

// overlap says how clean overlaps one of paths, or "", with the problem's code. "." and the
// configuration file do not: "." alone leaves that file out.
func overlap(clean string, paths []string) (string, Code) {
	for _, p := range paths {
		switch {
		case p == clean:
			return "it is there twice", CodeTwice
		case p == "." && clean == Name || p == Name && clean == ".":
		case Within(clean, p):
			return fmt.Sprintf("%q is part of it already", p), CodeOverlap
		case Within(p, clean):
			return fmt.Sprintf("%q is part of it", p), CodeOverlap
		}
	}
	return "", ""
}

// Within reports that a clean path is dir or below it; everything is within
// ".".
func Within(p, dir string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// CleanSource gives the plain form of source paths, as the file would have
// them; a path that cannot be a source is a fault of kind Usage.
func CleanSource(paths []string) ([]string, error) {
	var out []string
	for _, s := range paths {
		clean, problem, _ := cleanSource(s)
		if problem == "" {
			problem, _ = overlap(clean, out)
		}
		if problem != "" {
			return nil, &fault.Error{Op: "choose sources", Path: s, Kind: fault.Usage, Err: fmt.Errorf("source %q: %s", s, problem),
				Hint: "Name files and directories inside the worktree, each once."}
		}
		out = append(out, clean)
	}
	return out, nil
}
