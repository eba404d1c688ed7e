package harness

import (
	"fmt"
	"os"
	"testing"
)

// Main is the TestMain of a package whose tests run the command: it builds
// forklift with the build tags, tells use where it and PostgreSQL's programs
// are, runs the tests, and exits.
func Main(m *testing.M, use func(bin, pg string) error, tags ...string) {
	code, err := runTests(m, use, tags)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M, use func(bin, pg string) error, tags []string) (int, error) {
	dir, err := TempDir()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	pg, err := PostgresBin()
	if err != nil {
		return 0, err
	}
	if _, err := Build(dir, tags...); err != nil {
		return 0, err
	}
	if err := use(dir, pg); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
