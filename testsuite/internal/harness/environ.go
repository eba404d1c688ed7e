package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Environ is an environment in which forklift and git keep everything below
// home and meet nothing of the user who runs the tests. bin is the directory
// of the forklift binary, pg that of PostgreSQL's programs.
func Environ(home, bin, pg string) []string {
	env := []string{
		"HOME=" + home,
		"XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"FORKLIFT_PG_BIN=" + pg,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"LC_ALL=C.UTF-8",
		"TZ=UTC",
		"NO_COLOR=1",
	}
	// A go command that a script starts uses the caches of this one.
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	for _, name := range []string{"GOFLAGS", "GOPROXY", "GONOSUMDB", "GOTOOLCHAIN"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// gitConfig is the git configuration of the tests: an author, and no
// questions.
const gitConfig = `[user]
	name = Tester
	email = tester@example.com
[init]
	defaultBranch = main
[advice]
	detachedHead = false
[protocol "file"]
	allow = always
`

// MakeHome creates the directories and files that Environ names.
func MakeHome(home string) error {
	for _, dir := range []string{"data", "state", "cache", "config", "run", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(home, "gitconfig"), []byte(gitConfig), 0o600)
}

// Lookup finds a variable in an environment; the last one counts.
func Lookup(env []string, name string) string {
	value := ""
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}
