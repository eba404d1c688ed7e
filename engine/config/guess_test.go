package config

import (
	"fmt"
	"slices"
	"testing"
)

func TestGuess(t *testing.T) {
	var many []string
	for i := range maxGuessed + 1 {
		many = append(many, fmt.Sprintf("dir%d", i))
	}
	cases := []struct {
		tracked, want []string
	}{
		{[]string{".github", ".gitignore", "README.md", "LICENSE", "src", "migrations", "package.json"}, []string{"migrations", "package.json", "src"}},
		{[]string{"README.md", ".gitignore"}, []string{".gitignore", "README.md"}},
		{[]string{".forklift.json"}, []string{"."}},
		{nil, []string{"."}},
		{[]string{"licenses", "readme2", "Readme", "changes"}, []string{"licenses", "readme2"}},
		{[]string{"bad\xff"}, []string{"."}},
		{[]string{"odd \n name", "bad\xff"}, []string{"odd \n name"}},
		{many, []string{"."}},
	}
	for _, c := range cases {
		got := Guess(c.tracked)
		if !slices.Equal(got, c.want) {
			t.Errorf("Guess(%q) = %q, want %q", c.tracked, got, c.want)
		}
		f, err := Parse(Name, Default(got, nil))
		if err != nil || !slices.Equal(f.Source, got) {
			t.Errorf("the default file for %q: %v, %v", got, f, err)
		}
	}
}

func TestUnsaved(t *testing.T) {
	tracked := []string{".gitignore", "README.md", "apps", "lib", "src"}
	for _, c := range []struct{ source, want []string }{
		{[]string{"apps", "src"}, []string{"lib"}},
		{[]string{"apps/web", "lib", "src"}, nil}, // a part was chosen
		{[]string{"source"}, []string{"apps", "lib", "src"}},
		{[]string{"."}, nil},
	} {
		if got := Unsaved(tracked, c.source); !slices.Equal(got, c.want) {
			t.Errorf("Unsaved for %q = %q, want %q", c.source, got, c.want)
		}
	}
	if got := Unsaved(nil, []string{"src"}); len(got) != 0 {
		t.Errorf("Unsaved of nothing = %q", got)
	}
}

func TestDefaultIsReadable(t *testing.T) {
	want := "{\n  \"format\": 1,\n  \"source\": [\"a<b\", \"src\"],\n  \"connection_env\": \"DATABASE_URL\",\n  \"commands\": {}\n}\n"
	if got := string(Default([]string{"a<b", "src"}, nil)); got != want {
		t.Errorf("%s", got)
	}
}
