package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forklift/commands"
	"forklift/commands/internal/standin"
	"forklift/storage/clock"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// world is the program over an engine that only pretends.
type world struct {
	*app
	engine      *standin.Engine
	out, stderr bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{engine: &standin.Engine{}}
	dir := t.TempDir()
	w.app = &app{
		in: strings.NewReader(""), out: &w.out, err: &w.stderr,
		getwd: func() (string, error) { return dir, nil }, clock: clock.NewFake(standin.Now), signals: newSignals(),
		term: terminal{width: func() int { return 80 }, foreground: func() bool { return false }},
		wire: func(env commands.Env) (commands.Env, error) {
			env.Engine, env.Postgres = w.engine, w.engine
			return env, nil
		},
	}
	return w
}

// forklift runs one command line in a fresh world.
func forklift(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	w := newWorld(t)
	code = w.main(args)
	return code, w.out.String(), w.stderr.String()
}

// answers lets a world ask questions, which are answered with text.
func (w *world) answers(text string) {
	w.term.in, w.term.err = true, true
	w.in = io.MultiReader(strings.NewReader(text))
}
