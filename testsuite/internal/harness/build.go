package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Top is the directory that holds go.mod, found from the working directory.
func Top() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find go.mod: not in %s or above", dir)
		}
		dir = parent
	}
}

// TempDir makes a directory with a short name, links resolved. The caller
// removes it.
func TempDir() (string, error) {
	base := "/tmp"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "fl")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// Build compiles the forklift command into dir/forklift, with build tags if
// any are given, and gives the file's path.
func Build(dir string, tags ...string) (string, error) {
	return BuildProgram(dir, "commands/forklift", tags...)
}

// BuildProgram is Build for the command in another directory of the module; it
// gets that one's name.
func BuildProgram(dir, program string, tags ...string) (string, error) {
	top, err := Top()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, filepath.Base(program))
	args := []string{"build", "-o", out}
	if len(tags) > 0 {
		args = append(args, "-tags", strings.Join(tags, ","))
	}
	cmd := exec.Command("go", append(args, "./"+program)...)
	cmd.Dir = top
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, text)
	}
	return out, nil
}

// PostgresBin is the folder of PostgreSQL 17's programs with all tools and
// pgvector: FORKLIFT_PG_BIN, or what testsuite/postgres17.sh finds or unpacks.
func PostgresBin() (string, error) {
	if dir := os.Getenv("FORKLIFT_PG_BIN"); dir != "" {
		return dir, nil
	}
	top, err := Top()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(top, "testsuite", "postgres17.sh"), filepath.Join(top, ".cache", "postgresql-17"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find PostgreSQL 17: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
