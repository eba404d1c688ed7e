package supabase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"forklift/engine"
	"forklift/storage/durable"
	"forklift/storage/fault"

	"github.com/BurntSushi/toml"
)

// templateFormat changes when Init makes something else from the same files.
const templateFormat = 1

// maxEnvFileBytes limits a file of variables.
const maxEnvFileBytes = 1 << 20

// notData are names in supabase/ that have no say in what a new database holds.
var notData = []string{".temp", ".branches", ".gitignore", "functions", "tests", "snippets"}

// Template names what Init makes: the CLI, the services, and every file that
// migrations and seeds are read from. Equal files make an equal database, so a
// second worktree gets it without running them again.
func (s *stack) Template(ctx context.Context) (string, error) {
	project, err := s.project()
	if err != nil {
		return "", err
	}
	p, err := s.program(ctx)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	account := ""
	if os.Geteuid() == 0 {
		if account = s.deps.getenv(accountVariable); account == "" {
			if account, err = s.account(); err != nil {
				return "", err
			}
		}
	}
	fmt.Fprintf(h, "%d\x00%s\x00%s/%s\x00%s\x00%q\x00", templateFormat, p.Version, runtime.GOOS, runtime.GOARCH, account, s.options.Exclude)
	if err := s.hashTree(h, path.Join(project, "supabase"), "", notData); err != nil {
		return "", err
	}
	if err := s.hashEnv(h, project); err != nil {
		return "", err
	}
	if err := s.hashElsewhere(h, project); err != nil {
		return "", err
	}
	return kindName + "-" + hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// hashTree feeds names and contents of what is below a directory to h. Links
// are followed by the CLI, so they are here.
func (s *stack) hashTree(h hash.Hash, dir, name string, except []string) error {
	entries, err := s.fs.ReadDir(path.Join(dir, name))
	if err != nil {
		return fault.Wrap("read Supabase project", path.Join(dir, name), err)
	}
	for _, e := range entries {
		if name == "" && slices.Contains(except, e.Name) {
			continue
		}
		at := path.Join(name, e.Name)
		info, err := os.Stat(path.Join(dir, at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // a link that leads nowhere
		case err != nil:
			return fault.Wrap("read Supabase project", path.Join(dir, at), err)
		case info.IsDir() && e.Type&fs.ModeSymlink == 0:
			if err := s.hashTree(h, dir, at, nil); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if err := hashFile(h, path.Join(dir, at), at); err != nil {
				return err
			}
		}
	}
	return nil
}

func hashFile(h hash.Hash, name, as string) error {
	f, err := os.Open(name)
	if err != nil {
		return fault.Wrap("read Supabase project", name, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fault.Wrap("read Supabase project", name, err)
	}
	fmt.Fprintf(h, "%s\x00%x\x00", as, sum.Sum(nil))
	return nil
}

// envReference is how config.toml names a variable.
var envReference = regexp.MustCompile(`env\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\)`)

// hashEnv feeds the values that config.toml can take from elsewhere to h: those
// of the environment that it names, and the files of variables.
func (s *stack) hashEnv(h hash.Hash, project string) error {
	text, err := durable.ReadFile(s.fs, path.Join(project, configName), maxConfigBytes)
	if err != nil {
		return fault.Wrap("read Supabase configuration", path.Join(project, configName), err)
	}
	for _, m := range envReference.FindAllSubmatch(text, -1) {
		fmt.Fprintf(h, "env %s=%s\x00", m[1], s.deps.getenv(string(m[1])))
	}
	entries, err := s.fs.ReadDir(project)
	if err != nil {
		return fault.Wrap("read Supabase project", project, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, ".env") || e.Type.IsDir() {
			continue
		}
		if data, err := durable.ReadFile(s.fs, path.Join(project, e.Name), maxEnvFileBytes); err == nil {
			fmt.Fprintf(h, "%s\x00%x\x00", e.Name, sha256.Sum256(data))
		}
	}
	return nil
}

// hashElsewhere feeds the files to h that config.toml has loaded from outside of
// supabase/: seeds, schemas, and what buckets begin with.
func (s *stack) hashElsewhere(h hash.Hash, project string) error {
	text, err := durable.ReadFile(s.fs, path.Join(project, configName), maxConfigBytes)
	if err != nil {
		return fault.Wrap("read Supabase configuration", path.Join(project, configName), err)
	}
	base := path.Join(project, "supabase")
	for _, pattern := range loadedPaths(text) {
		found, err := filepath.Glob(filepath.Join(base, pattern))
		if err != nil {
			continue // the CLI says what is wrong with it
		}
		for _, name := range found {
			if strings.HasPrefix(name, base+"/") {
				continue // has been read
			}
			info, err := os.Stat(name)
			switch {
			case err != nil:
				return fault.Wrap("read Supabase project", name, err)
			case info.IsDir():
				err = s.hashTree(h, name, "", nil)
			case info.Mode().IsRegular():
				err = hashFile(h, name, strings.TrimPrefix(name, project))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// loadedPaths are the patterns of config.toml for files that go into a new
// database or its buckets.
func loadedPaths(text []byte) []string {
	var c struct {
		DB struct {
			Seed struct {
				Paths []string `toml:"sql_paths"`
			} `toml:"seed"`
			Migrations struct {
				Paths []string `toml:"schema_paths"`
			} `toml:"migrations"`
		} `toml:"db"`
		Storage struct {
			Buckets map[string]struct {
				Path string `toml:"objects_path"`
			} `toml:"buckets"`
		} `toml:"storage"`
	}
	if toml.Unmarshal(text, &c) != nil {
		return nil // the CLI says what is wrong with it
	}
	list := append(c.DB.Seed.Paths, c.DB.Migrations.Paths...)
	for _, b := range c.Storage.Buckets {
		list = append(list, b.Path)
	}
	list = slices.DeleteFunc(list, func(p string) bool { return p == "" || path.IsAbs(p) })
	slices.Sort(list)
	return list
}

// Init makes the project's database in an empty slot: the CLI starts a new
// stack there, which runs migrations and seeds, and stops it again.
func (s *stack) Init(ctx context.Context, slot engine.Slot) error {
	if err := s.Start(ctx, slot); err != nil {
		return firstStart(err)
	}
	return s.Stop(ctx)
}

// firstStart says what to do about a stack that could not be made.
func firstStart(err error) error {
	if fault.KindOf(err) != fault.Failed {
		return err
	}
	hint := fault.HintOf(err)
	if hint == "" {
		hint = "Nothing was set up. Correct what the CLI complains about (a migration, a seed file, config.toml), then run `forklift setup` again."
	}
	return &fault.Error{Op: "make the stack", Kind: fault.Failed, Err: err, Hint: hint, Items: fault.ItemsOf(err)}
}
