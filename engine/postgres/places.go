package postgres

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// named is the place that the user named, if any.
func (o Options) named() []candidate {
	if o.Bin != "" {
		return []candidate{{dir: o.Bin, found: "forklift.toml", explicit: true}}
	}
	if dir := o.getenv("FORKLIFT_PG_BIN"); dir != "" {
		return []candidate{{dir: dir, found: "FORKLIFT_PG_BIN", explicit: true}}
	}
	return nil
}

// candidates lists where else PostgreSQL may be, in the order of preference.
func (o Options) candidates(ctx context.Context) []candidate {
	var list []candidate
	add := func(found string, dirs ...string) {
		for _, dir := range dirs {
			list = append(list, candidate{dir: dir, found: found})
		}
	}
	for _, dir := range o.pathDirs() {
		program := filepath.Join(dir, "pg_config")
		if !executable(program) {
			continue
		}
		if said, err := o.output(ctx, probeTimeout, nil, nil, program, "--bindir"); err == nil {
			add("pg_config", strings.TrimSpace(said))
		}
	}
	for _, dir := range o.pathDirs() {
		if executable(filepath.Join(dir, "postgres")) {
			add("PATH", dir)
		}
	}
	for _, major := range majors() {
		add("Debian", fmt.Sprintf("/usr/lib/postgresql/%d/bin", major))
		add("RPM", fmt.Sprintf("/usr/pgsql-%d/bin", major))
		for _, prefix := range []string{"/opt/homebrew", "/usr/local", linuxbrew} {
			add("Homebrew", fmt.Sprintf("%s/opt/postgresql@%d/bin", prefix, major))
		}
		add("Postgres.app", fmt.Sprintf("/Applications/Postgres.app/Contents/Versions/%d/bin", major))
	}
	if o.CacheDir != "" {
		add("embedded", embeddedBin(o.CacheDir))
	}
	return list
}

// linuxbrew is Homebrew's prefix on Linux; it is a user's home there.
const linuxbrew = "/home" + "/linuxbrew/.linuxbrew"

// majors are the usable versions, the preferred one first.
func majors() []int {
	list := []int{preferredMajor}
	for v := newestMajor; v >= oldestMajor; v-- {
		if v != preferredMajor {
			list = append(list, v)
		}
	}
	return list
}

// dirsOf finds the share and library directories of an installation: from
// its pg_config, else where the known packages have them.
func (o Options) dirsOf(ctx context.Context, bin string, major int) (share, lib string) {
	if program := filepath.Join(bin, "pg_config"); executable(program) {
		said, err := o.output(ctx, probeTimeout, nil, nil, program, "--sharedir", "--pkglibdir")
		if lines := strings.Split(strings.TrimSpace(said), "\n"); err == nil && len(lines) == 2 {
			return lines[0], lines[1]
		}
	}
	prefix := filepath.Dir(bin)
	version := fmt.Sprint(major)
	share = firstWith("extension/plpgsql.control", filepath.Join(prefix, "share/postgresql"), filepath.Join(prefix, "share"),
		filepath.Join(prefix, "share/postgresql@"+version), filepath.Join(prefix, "../../../share/postgresql", version))
	lib = firstWith("plpgsql.*", filepath.Join(prefix, "lib/postgresql"), filepath.Join(prefix, "lib"),
		filepath.Join(prefix, "lib/postgresql@"+version))
	return share, lib
}

// firstWith is the first directory that holds a file of the pattern.
func firstWith(pattern string, dirs ...string) string {
	for _, dir := range dirs {
		if found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), pattern)); len(found) > 0 {
			return dir
		}
	}
	return ""
}

// escapeGlob makes a name mean itself in a pattern.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// executable reports a program that may be run.
func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// maxSmallBytes bounds readSmall.
const maxSmallBytes = 1 << 20

// readSmall gives the first bytes of a file, nil when it cannot be read.
func readSmall(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmallBytes))
	if err != nil {
		return nil
	}
	return data
}

// jitBroken reports a JIT library whose LLVM is missing: PostgreSQL would find
// out at the first expensive query, and fail it. Only ELF systems can be told.
func jitBroken(libDir string) bool {
	if libDir == "" {
		return false
	}
	file, err := elf.Open(filepath.Join(libDir, "llvmjit.so"))
	if err != nil {
		return false // absent: PostgreSQL runs without it
	}
	defer file.Close()
	needed, err := file.ImportedLibraries()
	if err != nil {
		return true
	}
	i := slices.IndexFunc(needed, func(name string) bool { return strings.HasPrefix(name, "libLLVM") })
	return i >= 0 && !findLibrary(file, libDir, needed[i])
}

// findLibrary looks where the dynamic linker would: the library's own path,
// the linker's cache (names stand in it as they are), the standard places.
func findLibrary(file *elf.File, libDir, name string) bool {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, _ := file.DynString(tag)
		for _, p := range paths {
			dirs = append(dirs, strings.Split(strings.ReplaceAll(p, "$ORIGIN", libDir), ":")...)
		}
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for _, dir := range []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64"} {
		dirs = append(dirs, dir, dir+"/"+machine+"-linux-gnu")
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, name)); dir != "" && err == nil {
			return true
		}
	}
	return bytes.Contains(readSmall("/etc/ld.so.cache"), append([]byte(name), 0))
}
