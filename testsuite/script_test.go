package testsuite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long processes of a script may take to go once it is over.
const patience = 3 * time.Second

// world is what all scripts of a run share.
var world struct {
	root  string // everything is below it
	bin   string // directory of the forklift binary
	pg    string // directory of PostgreSQL's programs
	proto string // a home whose store holds the template of an empty cluster
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run prepares the world, runs the tests and looks for processes that are
// left.
func run(m *testing.M) (int, error) {
	root, err := harness.TempDir()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(root)
	// Scripts may act as another user, who must be able to get there.
	if err := os.Chmod(root, 0o755); err != nil {
		return 0, err
	}
	world.root, world.bin, world.proto = root, filepath.Join(root, "bin"), filepath.Join(root, "proto")
	if world.pg, err = harness.PostgresBin(); err != nil {
		return 0, err
	}
	if _, err := harness.Build(world.bin); err != nil {
		return 0, err
	}
	if err := prepare(world.proto); err != nil {
		return 0, err
	}
	code := m.Run()
	left, err := harness.WaitForNone(root, patience)
	if err != nil {
		return 0, err
	}
	if len(left) > 0 {
		harness.End(root, left)
		return 0, fmt.Errorf("processes were left behind: %v", left)
	}
	return code, nil
}

// prepare makes a home with a store that has made an empty cluster before, so
// that not every script waits for initdb.
func prepare(home string) error {
	if err := harness.MakeHome(home); err != nil {
		return err
	}
	repo := filepath.Join(home, "r")
	if err := os.Mkdir(repo, 0o755); err != nil {
		return err
	}
	for _, argv := range [][]string{
		{"git", "init", "-q"},
		{"git", "commit", "-q", "--allow-empty", "-m", "first"},
		{filepath.Join(world.bin, "forklift"), "setup", "--yes", "--source", "src"},
		{filepath.Join(world.bin, "forklift"), "teardown", "--yes"},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = repo, environ(home)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("prepare the store: %s: %w\n%s", strings.Join(argv, " "), err, out)
		}
	}
	return nil
}

// environ is the environment of everything that the scripts run.
func environ(home string) []string { return harness.Environ(home, world.bin, world.pg) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:         "scripts",
		WorkdirRoot: world.root,
		Setup:       setup,
		Condition:   condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"forklift":   cmdForklift,
			"exits":      cmdExits,
			"repo":       cmdRepo,
			"sql":        cmdSQL,
			"session":    cmdSession,
			"listen":     cmdListen,
			"dump":       cmdDump,
			"tree":       cmdTree,
			"json":       cmdJSON,
			"setvar":     cmdSetvar,
			"eventually": cmdEventually,
			"put":        cmdPut,
			"age":        cmdAge,
			"mount":      cmdMount,
			"shells":     cmdShells,
			"killed":     cmdKilled,
		},
		RequireUniqueNames: true,
	})
}

// setup gives a script its home. A file named fresh in the script asks for a
// home without a store.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if _, err := os.Stat(filepath.Join(env.WorkDir, "fresh")); err == nil {
		if err := harness.MakeHome(home); err != nil {
			return err
		}
	} else if out, err := exec.Command("cp", "-a", world.proto, home).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the prepared home: %w\n%s", err, out)
	}
	env.Vars = append(env.Vars, environ(home)...)
	top, err := harness.Top()
	if err != nil {
		return err
	}
	env.Setenv("TOP", top)
	env.Defer(func() {
		left, err := harness.WaitForNone(env.WorkDir, patience)
		if err == nil && len(left) == 0 {
			return
		}
		harness.End(env.WorkDir, left)
		env.T().Log(fmt.Sprintf("left behind: %v %v", left, err))
		env.T().FailNow()
	})
	return nil
}

// failpoints builds the command that can be told to die, once; its path.
var failpoints = sync.OnceValues(func() (string, error) {
	return harness.Build(filepath.Join(world.root, "failpoints"), "failpoint")
})

// condition knows what scripts may ask of the machine.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "mount":
		return canMount(), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// canMount tries whether file systems can be mounted here.
var canMount = sync.OnceValue(func() bool {
	dir := filepath.Join(world.root, "mount")
	if os.Mkdir(dir, 0o700) != nil || exec.Command("mount", "-t", "tmpfs", "none", dir).Run() != nil {
		return false
	}
	return exec.Command("umount", dir).Run() == nil
})
