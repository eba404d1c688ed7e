package policy

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// licences are those that may be linked into an Apache-2.0 program, each with
// words that only its text has.
var licences = []struct {
	name  string
	words *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License\s+Version 2\.0`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge, to any person obtaining a copy`)},
	{"BSD", regexp.MustCompile(`Redistribution and use in source and binary forms, with or without`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software for any`)},
	{"CC0-1.0", regexp.MustCompile(`CC0 1\.0 Universal|Creative Commons Legal Code`)},
	{"Unlicense", regexp.MustCompile(`This is free and unencumbered software released into the public domain`)},
}

// copyleft matches texts that must not be linked even where they stand beside
// a permissive one.
var copyleft = regexp.MustCompile(`GNU (AFFERO |LESSER )?GENERAL PUBLIC LICENSE|Server Side Public License|Mozilla Public License`)

// module is what `go list` tells about a module that the build uses.
type module struct {
	Path    string
	Version string
	Main    bool
	Dir     string
}

// usedModules lists the modules whose packages the program or its tests link.
func usedModules(t *testing.T) map[string]module {
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=Module", "./...")
	cmd.Dir, cmd.Stderr = top(), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := map[string]module{}
	for dec := json.NewDecoder(out); ; {
		var pkg struct{ Module *module }
		if err := dec.Decode(&pkg); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m := pkg.Module; m != nil && !m.Main {
			found[m.Path] = *m
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLicencesAreOnTheList(t *testing.T) {
	for _, m := range usedModules(t) {
		name, err := licenceOf(m.Dir)
		if err != nil {
			t.Errorf("%s %s: %v", m.Path, m.Version, err)
			continue
		}
		t.Logf("%-12s %s %s", name, m.Path, m.Version)
		if name == "" {
			t.Errorf("%s %s: its licence is not on the list", m.Path, m.Version)
		}
	}
}

// licenceOf names the licence of a module's directory, or "" when it is not
// on the list.
func licenceOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !(strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "COPYING") || strings.HasPrefix(upper, "UNLICENSE")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		flat := strings.Join(strings.Fields(string(text)), " ")
		for _, l := range licences {
			if l.words.MatchString(flat) && !copyleft.MatchString(flat) {
				return l.name, nil
			}
		}
	}
	return "", nil
}
