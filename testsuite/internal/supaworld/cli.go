package supaworld

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"forklift/testsuite/internal/harness"
)

// CLIVersion is the Supabase CLI that the tests drive.
const CLIVersion = "3.1.0"

// The client library of the story that goes through the gateway, and the
// WebSocket that it needs on a Node without one.
const (
	clientVersion = "2.119.1"
	socketVersion = "8.23.0"
)

const (
	installTimeout = 10 * time.Minute
	lockTimeout    = 12 * time.Minute
)

// installed gives the folder of a package of npm in .cache, which holds
// node_modules. What is not there is installed by the npm client; it appears
// by one rename, and several tests at once wait for each other.
func installed(folder string, packages ...string) (string, error) {
	top, err := harness.Top()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(top, ".cache", "supabase")
	dir := filepath.Join(cache, folder)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(cache, folder+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // by the one we waited for
	}
	temp, err := os.MkdirTemp(cache, "install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	args := append([]string{"install", "--save-exact", "--silent", "--no-audit", "--no-fund", "--prefix", temp}, packages...)
	if out, err := exec.CommandContext(ctx, "npm", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %v: %w\n%s", packages, err, out)
	}
	if err := os.Chmod(temp, 0o755); err != nil { // an unprivileged account goes through it
		return "", err
	}
	return dir, os.Rename(temp, dir)
}

// lockFile takes a lock that other processes' tests want, too.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	got := make(chan error, 1)
	go func() { got <- unix.Flock(int(f.Fd()), unix.LOCK_EX) }()
	select {
	case err = <-got:
	case <-time.After(lockTimeout):
		return nil, fmt.Errorf("%s: another process has been installing for %v", name, lockTimeout)
	}
	return func() { _ = f.Close() }, err
}

// cliDir installs the CLI and gives the folder of its program.
func cliDir() (string, error) {
	dir, err := installed("cli-"+CLIVersion, "supabase@"+CLIVersion)
	if err != nil {
		return "", err
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	bin := filepath.Join(dir, "node_modules", "@supabase", "cli-"+runtime.GOOS+"-"+arch, "bin")
	_, err = os.Stat(filepath.Join(bin, "supabase"))
	return bin, err
}

// ClientModules installs supabase-js and gives the folder that node finds it
// in: the parent of node_modules.
func ClientModules() (string, error) {
	return installed("client-"+clientVersion, "@supabase/supabase-js@"+clientVersion, "ws@"+socketVersion)
}
