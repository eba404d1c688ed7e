// Command hand serves the archives of package supaworld until it is ended,
// for trying things by hand: it writes the fixture's project with its lock into
// the folder that is its argument, and prints the variables for a shell.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"forklift/testsuite/internal/harness"
	"forklift/testsuite/internal/supaworld"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hand:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: hand DIRECTORY, where the project is written")
	}
	bin, err := harness.TempDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	pg, err := harness.PostgresBin()
	if err != nil {
		return err
	}
	hub, err := supaworld.Open(bin, pg)
	if err != nil {
		return err
	}
	defer hub.Close()
	files, err := supaworld.Fixture()
	if err != nil {
		return err
	}
	for name, text := range hub.Project(files) {
		file := filepath.Join(os.Args[1], name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("export %s\nexport FORKLIFT_PG_BIN=%s\nexport PATH=%s:$PATH\n", strings.Join(hub.Env, "\nexport "), pg, hub.CLI)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	<-ended
	return nil
}
