package doctor

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
)

// The space below which there is a warning, and a problem: a restore refuses
// without a margin of 64 MiB beside what it writes.
const (
	littleSpace = 2 << 30
	noSpace     = 128 << 20
)

// promisedMajor is the version of PostgreSQL that everything is tested with.
const promisedMajor = 17

func versions(f *Facts) (Verdict, string, string) {
	return OK, "forklift " + f.Version + ", " + f.System, ""
}

func git(f *Facts) (Verdict, string, string) {
	if f.GitErr != nil {
		return bad(Problem, f.GitErr, "Install git, or add its directory to PATH.")
	}
	return OK, "git " + f.Git, ""
}

func installation(f *Facts) (Verdict, string, string) {
	const get = "Run `forklift postgres install`, or name its bin directory in FORKLIFT_PG_BIN."
	if f.PostgresErr != nil {
		return bad(Problem, f.PostgresErr, get)
	}
	if f.Used < 0 || f.Used >= len(f.Postgres) {
		var why []string
		for _, in := range f.Postgres {
			why = append(why, in.Bin+" "+in.Why)
		}
		if len(why) == 0 {
			return Problem, "no PostgreSQL was found", get
		}
		return Problem, "no PostgreSQL can be used: " + strings.Join(why, "; "), get
	}
	in := f.Postgres[f.Used]
	found := fmt.Sprintf("PostgreSQL %s in %s", in.Version, in.Bin)
	if in.Major != promisedMajor {
		return Warning, found, fmt.Sprintf("PostgreSQL %d is the version that is promised to work; `forklift postgres install` fetches it.", promisedMajor)
	}
	return OK, found, ""
}

func jit(f *Facts) (Verdict, string, string) {
	if f.Used < 0 || f.Used >= len(f.Postgres) || !strings.Contains(f.Postgres[f.Used].Why, "LLVM") {
		return "", "", ""
	}
	return Warning, f.Postgres[f.Used].Why, "Nothing has to be done; install the LLVM that PostgreSQL was built with if long queries are slow."
}

func socket(f *Facts) (Verdict, string, string) {
	s := f.Socket
	if s.Err != nil {
		return bad(Problem, s.Err, "A sandbox may forbid unix sockets, or the place is not there: set XDG_RUNTIME_DIR to a private directory where they are allowed.")
	}
	if s.Bytes > s.Limit {
		return Problem, fmt.Sprintf("the name of a socket in %s would have %d bytes, %d is the most", s.Dir, s.Bytes, s.Limit),
			"Set XDG_RUNTIME_DIR to a directory with a shorter name."
	}
	return OK, "sockets are in " + s.Dir, ""
}

func store(f *Facts) (Verdict, string, string) {
	switch {
	case f.StoreErr != nil:
		return bad(Problem, f.StoreErr, "Look at the path and at its owner.")
	case f.Store == "":
		return "", "", ""
	case !f.Made:
		return OK, f.Store + " (the first setup makes it)", ""
	}
	return OK, f.Store, ""
}

func permissions(f *Facts) (Verdict, string, string) {
	if !f.Made || f.Mode == 0 {
		return "", "", ""
	}
	// To pass through it is what servers need that run as another account.
	if f.Mode&0o066 != 0 {
		return Problem, fmt.Sprintf("others can get into the store: its mode is %04o", f.Mode), "Run `chmod 700 " + f.Store + "`: everything in your worktrees and databases is in it."
	}
	if f.Mode&0o011 != 0 {
		return OK, fmt.Sprintf("only you can read the store; other accounts can pass through its top directory (mode %04o)", f.Mode), ""
	}
	return OK, fmt.Sprintf("only you can get into the store (mode %04o)", f.Mode), ""
}

func fileSystem(f *Facts) (Verdict, string, string) {
	switch p := f.Place; {
	case p.FileSystem == "":
		return "", "", ""
	case p.Refused:
		return Problem, "the store is on " + p.FileSystem, "Locks and flushes may not hold there. Put the store on a local disk: set FORKLIFT_STORE before the first setup."
	case p.Memory:
		return Warning, "the store is in memory", "A restart of the machine deletes every checkpoint. Put the store on a disk: set FORKLIFT_STORE before the first setup."
	default:
		return OK, "the store is on " + p.FileSystem, ""
	}
}

func clones(f *Facts) (Verdict, string, string) {
	switch {
	case !f.Made:
		return "", "", ""
	case f.Clones:
		return OK, "the store's file system shares blocks between files (copy-on-write)", ""
	}
	return OK, "the store's file system has no copy-on-write: files are copied, which needs more time and space", ""
}

func locks(f *Facts) (Verdict, string, string) {
	if !f.Made {
		return "", "", ""
	}
	if f.LockErr != nil {
		return bad(Problem, f.LockErr, "A sandbox or the file system forbids locks (flock), without which nothing is safe: allow them, or move the store.")
	}
	return OK, "locks work", ""
}

func space(f *Facts) (Verdict, string, string) {
	if f.SpaceErr != nil {
		return bad(Warning, f.SpaceErr, "Look at the disk.")
	}
	found := humanize.IBytes(uint64(max(f.Space.FreeBytes, 0))) + " free on the store's file system"
	switch {
	case f.Space.TotalBytes == 0:
		return "", "", ""
	case f.Space.FreeBytes < noSpace:
		return Problem, found, "Captures and restores will be refused: make room."
	case f.Space.FreeBytes < littleSpace:
		return Warning, found, "Make room before captures and restores are refused."
	}
	return OK, found, ""
}
