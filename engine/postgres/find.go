package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"forklift/storage/fault"
)

// The versions of PostgreSQL.
const (
	preferredMajor = 17 // the promised one, taken when several are found
	oldestMajor    = 16
	newestMajor    = 18
)

// Installation is a PostgreSQL that was found.
type Installation struct {
	Bin        string      `json:"bin"`     // directory with initdb and postgres
	Version    string      `json:"version"` // "17.12"; "" when it could not be told
	Major      int         `json:"major"`   // 17
	Full       string      `json:"full"`    // what postgres -V says
	Found      string      `json:"found"`   // where: "FORKLIFT_PG_BIN", "PATH", "embedded", ...
	Named      bool        `json:"-"`       // by the user: it is used or refused, never passed over
	Usable     bool        `json:"usable"`
	Why        string      `json:"why,omitempty"`        // why it is not usable, or what to know about it
	ShareDir   string      `json:"share_dir,omitempty"`  // holds extension/*.control; "" when not found
	LibDir     string      `json:"lib_dir,omitempty"`    // holds the extensions' libraries; "" when not found
	Extensions []Extension `json:"extensions,omitempty"` // sorted by name
}

// Extension is an extension that an installation can create.
type Extension struct {
	Name    string `json:"name"`
	Version string `json:"version"` // the default one
}

// candidate is a place to look at.
type candidate struct {
	dir, found string
	explicit   bool // the user named it: use it or fail
}

// Find looks at every place where a PostgreSQL may be, in the order in which
// they are taken, and tells what is there. Places without postgres are left
// out, unless the user named them. It changes nothing.
func Find(ctx context.Context, opt Options) ([]Installation, error) {
	var found []Installation
	seen := map[string]bool{}
	for _, c := range append(opt.named(), opt.candidates(ctx)...) {
		if err := ctx.Err(); err != nil {
			return nil, &fault.Error{Op: "find postgres", Kind: fault.Canceled, Err: err}
		}
		inst, ok := opt.look(ctx, c)
		if !ok || seen[inst.Bin] {
			continue
		}
		seen[inst.Bin] = true
		inst.Named = c.explicit
		inst.Extensions = opt.extensions(inst.ShareDir)
		found = append(found, inst)
	}
	return found, nil
}

// choose finds the installation for a cluster of a major version; 0 is for a
// new one. What the user named is taken or refused, never passed over.
func (o Options) choose(ctx context.Context, major int) (*Installation, error) {
	var best *Installation
	var refused []string
	seen := map[string]bool{}
	places := o.named()
	if places == nil {
		places = o.candidates(ctx)
	}
	for _, c := range places {
		if best != nil && !c.explicit && best.Major == preferredMajor {
			break
		}
		inst, ok := o.look(ctx, c)
		if err := ctx.Err(); err != nil { // so that what it says of the place is not true
			return nil, &fault.Error{Op: "find postgres", Kind: fault.Canceled, Err: err}
		}
		known := seen[inst.Bin]
		seen[inst.Bin] = true
		switch {
		case !ok || known:
		case c.explicit && !inst.Usable:
			return nil, &fault.Error{Op: "use postgres", Path: inst.Bin, Kind: fault.Unsupported, Err: errors.New(inst.Why),
				Hint: "It was named by " + c.found + "; name another directory there, or none."}
		case c.explicit && major != 0 && inst.Major != major:
			return nil, otherMajor(major, inst)
		case c.explicit:
			return &inst, nil
		case !inst.Usable:
			refused = append(refused, inst.Bin+": "+inst.Why)
		case major == inst.Major:
			return &inst, nil
		case major == 0 && (best == nil || inst.Major == preferredMajor && best.Major != preferredMajor):
			best = &inst
		case major != 0:
			refused = append(refused, inst.Bin+": is version "+inst.Version)
		}
	}
	if best != nil {
		return best, nil
	}
	want := fmt.Sprintf("PostgreSQL %d to %d", oldestMajor, newestMajor)
	if major != 0 {
		want = fmt.Sprintf("PostgreSQL %d", major)
	}
	return nil, &fault.Error{Op: "find postgres", Kind: fault.Unsupported, Err: fmt.Errorf("no %s on this machine", want), Items: refused,
		Hint: "Run `forklift postgres install`, or name its bin directory in FORKLIFT_PG_BIN; `forklift postgres list` shows what was found."}
}

// otherMajor says that a cluster needs another version than the named one.
func otherMajor(major int, inst Installation) error {
	return &fault.Error{Op: "use postgres", Path: inst.Bin, Kind: fault.Unsupported,
		Err:  fmt.Errorf("the cluster is of PostgreSQL %d, this is version %s", major, inst.Version),
		Hint: fmt.Sprintf("Name the bin directory of a PostgreSQL %d.", major)}
}

// versionLine is what postgres -V prints; betas and release candidates have
// letters in place of the minor version.
var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) ((\d+)(?:\.\d+|devel|beta\d+|rc\d+))`)

// look asks what is in a place. ok is false when there is nothing and the
// user did not name it.
func (o Options) look(ctx context.Context, c candidate) (Installation, bool) {
	bin, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		return Installation{Bin: c.dir, Found: c.found, Why: "no such directory"}, c.explicit
	}
	inst := Installation{Bin: bin, Found: c.found}
	for _, program := range []string{"postgres", "initdb"} {
		if !executable(filepath.Join(bin, program)) {
			inst.Why = "has no program " + program
			// PATH is full of directories without one; a postgres without
			// initdb is worth a line in the list.
			return inst, c.explicit || program == "initdb"
		}
	}
	said, err := o.output(ctx, probeTimeout, nil, nil, filepath.Join(bin, "postgres"), "-V")
	if err != nil {
		inst.Why = "does not run: " + err.Error()
		return inst, true
	}
	inst.Full = strings.TrimSpace(said)
	m := versionLine.FindStringSubmatch(inst.Full)
	if m == nil {
		inst.Why = fmt.Sprintf("tells no version: %q", inst.Full)
		return inst, true
	}
	inst.Version = m[1]
	inst.Major, _ = strconv.Atoi(m[2])
	inst.Usable = inst.Major >= oldestMajor && inst.Major <= newestMajor
	if !inst.Usable {
		inst.Why = fmt.Sprintf("is version %s; %d to %d can be used", inst.Version, oldestMajor, newestMajor)
		return inst, true
	}
	inst.ShareDir, inst.LibDir = o.dirsOf(ctx, bin, inst.Major)
	if jitBroken(inst.LibDir) {
		inst.Why = "its JIT library needs an LLVM that is not here; servers run with jit=off"
	}
	return inst, true
}

// controlVersion is the line of a control file that names the version.
var controlVersion = regexp.MustCompile(`(?m)^\s*default_version\s*=\s*'([^']*)'`)

// extensions lists what can be created.
func (o Options) extensions(shareDir string) []Extension {
	if shareDir == "" {
		return nil
	}
	names, _ := filepath.Glob(filepath.Join(escapeGlob(shareDir), "extension", "*.control"))
	slices.Sort(names)
	var list []Extension
	for _, name := range names {
		e := Extension{Name: strings.TrimSuffix(filepath.Base(name), ".control")}
		if m := controlVersion.FindSubmatch(readSmall(name)); m != nil {
			e.Version = string(m[1])
		}
		list = append(list, e)
	}
	return list
}
