package storage

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// nameFormat is the version of a name's JSON.
const nameFormat = 1

// MaxNameBytes is the longest name of a checkpoint.
const MaxNameBytes = 128

// MaxNames is how many names of one project are listed at most.
const MaxNames = 100_000

// kindPrefix begins the file names of the names of a kind. Names have no
// '@', so the kinds are namespaces of their own: a user cannot take the name
// of a safety pair.
var kindPrefix = map[PairKind]string{
	Capture:  "",
	Safety:   "safety@",
	Rescue:   "rescue@",
	Seed:     "seed@",
	Template: "template@",
}

// nameBody is the record of a name.
type nameBody struct {
	Project  string   `json:"project"`
	Worktree string   `json:"worktree"`
	Kind     PairKind `json:"kind"`
	Name     string   `json:"name"`
	Pair     PairID   `json:"pair"`
}

// NamedPair is a name and the pair it leads to.
type NamedPair struct {
	Worktree string
	Kind     PairKind
	Name     string
	ID       PairID
}

// ValidName says what is wrong with the name of a checkpoint: it has 1 to
// 128 of the letters a-z and A-Z, digits, '.', '_' and '-', does not begin with '-' or
// '.', and has no "..".
func ValidName(name string) error {
	var err error
	switch {
	case name == "":
		err = errors.New("a name is empty")
	case len(name) > MaxNameBytes:
		err = fmt.Errorf("name %q is longer than %d characters", name[:20]+"...", MaxNameBytes)
	case name[0] == '-' || name[0] == '.':
		err = fmt.Errorf("name %q begins with %q", name, name[0])
	case strings.Contains(name, ".."):
		err = fmt.Errorf("name %q has two dots in a row", name)
	case strings.IndexFunc(name, notInName) >= 0:
		err = fmt.Errorf("name %q has a character that names cannot have", name)
	default:
		return nil
	}
	return &fault.Error{Op: "check name", Kind: fault.Usage, Err: err,
		Hint: "Use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter, a digit or '_'."}
}

func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
}

// encodeName gives the file name for a valid name, so that names that differ
// only in case have different files on every file system: the name in lower
// case and, if it has capitals, '=' and where they are, in hexadecimal, bit k
// of byte k/8 for character k.
func encodeName(name string) string {
	lower := strings.ToLower(name)
	if lower == name {
		return name
	}
	var capitals []byte
	for i := range len(name) {
		for len(capitals) <= i/8 {
			capitals = append(capitals, 0)
		}
		if name[i] != lower[i] {
			capitals[i/8] |= 1 << (i % 8)
		}
	}
	for len(capitals) > 0 && capitals[len(capitals)-1] == 0 {
		capitals = capitals[:len(capitals)-1]
	}
	return lower + "=" + hex.EncodeToString(capitals)
}

// nameFile gives the file of a name.
func (s *Store) nameFile(project, worktree string, kind PairKind, name string) (string, error) {
	dir, err := element(project)
	if err != nil {
		return "", err
	}
	sub, err := element(worktree)
	if err != nil {
		return "", err
	}
	prefix, ok := kindPrefix[kind]
	if !ok {
		return "", misuse("check name", name, "unknown kind of pair %q", kind)
	}
	if err := ValidName(name); err != nil {
		return "", err
	}
	return s.path(namesDir, dir, sub, prefix+encodeName(name)), nil
}

// enterName holds the store's lock for a change of a name, and gives the
// name's file. It fails with kind NotFound if there is no pair id.
func (s *Store) enterName(ctx context.Context, op, project, worktree string, kind PairKind, name string, id PairID) (file string, release func(), err error) {
	file, err = s.nameFile(project, worktree, kind, name)
	if err != nil {
		return "", nil, err
	}
	pair, err := s.pairName(project, id)
	if err != nil {
		return "", nil, err
	}
	release, err = s.hold(ctx)
	if err != nil {
		return "", nil, err
	}
	if _, err := s.fs.Lstat(pair); err != nil {
		release()
		if errors.Is(err, fs.ErrNotExist) {
			err = &fault.Error{Kind: fault.NotFound, Err: fmt.Errorf("there is no pair %s", id)}
		}
		return "", nil, failed(op, name, err)
	}
	return file, release, nil
}

// SetName gives a stored pair a name: this is what publishes it. The names
// of a kind and worktree are taken once: an error of kind Usage that is
// fs.ErrExist.
//
// After nil the name is durable. After an error or a crash it is absent or
// whole.
func (s *Store) SetName(ctx context.Context, project, worktree string, kind PairKind, name string, id PairID) error {
	const op = "set name"
	file, release, err := s.enterName(ctx, op, project, worktree, kind, name, id)
	if err != nil {
		return err
	}
	defer release()
	// The pair's directory entry must be durable before a name leads to it;
	// PutPair saw to that.
	if err := s.makeDir(s.dirOf(file)); err != nil {
		return failed(op, name, err)
	}
	err = record.Create(s.fs, file, "name", nameFormat, nameBody{project, worktree, kind, name, id})
	if errors.Is(err, fs.ErrExist) && s.freeStray(file) == nil {
		err = record.Create(s.fs, file, "name", nameFormat, nameBody{project, worktree, kind, name, id})
	}
	if errors.Is(err, fs.ErrExist) {
		return nameTaken(op, name)
	}
	return failed(op, name, err)
}

func (s *Store) dirOf(file string) string { return file[:strings.LastIndexByte(file, '/')] }

// Name tells which pair a name leads to; kind NotFound if it is not taken.
func (s *Store) Name(ctx context.Context, project, worktree string, kind PairKind, name string) (PairID, error) {
	file, err := s.nameFile(project, worktree, kind, name)
	if err != nil {
		return "", err
	}
	release, err := s.hold(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	body, err := s.readName(file)
	if err == nil {
		var counts bool
		if counts, err = s.counts(body); err == nil && !counts {
			err = fs.ErrNotExist // left by a killed rename
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", &fault.Error{Op: "find checkpoint", Path: name, Kind: fault.NotFound, Err: fmt.Errorf("there is no checkpoint %s", name)}
	}
	if err != nil {
		return "", err
	}
	if body.Project != project || body.Worktree != worktree || body.Kind != kind || body.Name != name {
		return "", corrupt("read name", file, "it is the name %q of another pair", body.Name)
	}
	return body.Pair, nil
}

// readName reads a name's file.
func (s *Store) readName(file string) (nameBody, error) {
	var body nameBody
	if err := record.Read(s.fs, file, "name", nameFormat, &body); err != nil {
		return body, failed("read name", file, err)
	}
	if !body.Pair.valid() {
		return body, corrupt("read name", file, "%q is no id of a pair", body.Pair)
	}
	again, err := s.nameFile(body.Project, body.Worktree, body.Kind, body.Name)
	if err != nil || again != file {
		return body, corrupt("read name", file, "it is the name %q of kind %q", body.Name, body.Kind)
	}
	return body, nil
}

// Names lists the names of a worktree of a project, or with worktree "" of
// all its worktrees, sorted by worktree, kind and name. Seeds and templates
// have project "".
func (s *Store) Names(ctx context.Context, project, worktree string) ([]NamedPair, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	dir, err := element(project)
	if err != nil {
		return nil, err
	}
	dir = s.path(namesDir, dir)
	subs := []string{}
	if worktree != "" {
		sub, err := element(worktree)
		if err != nil {
			return nil, err
		}
		subs = append(subs, sub)
	} else if subs, err = s.list(dir); err != nil {
		return nil, err
	}
	var names []NamedPair
	for _, sub := range subs {
		files, err := s.list(dir + "/" + sub)
		if err != nil {
			return nil, err
		}
		if len(names)+len(files) > MaxNames {
			return nil, misuse("list names", dir, "more than %d names", MaxNames)
		}
		for _, name := range files {
			body, err := s.readName(dir + "/" + sub + "/" + name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed since the list
			}
			if err != nil {
				return nil, err
			}
			if ok, err := s.counts(body); err != nil {
				return nil, err
			} else if !ok {
				continue // left by a killed rename
			}
			names = append(names, NamedPair{body.Worktree, body.Kind, body.Name, body.Pair})
		}
		if err := ctx.Err(); err != nil {
			return nil, failed("list names", dir, err)
		}
	}
	slices.SortFunc(names, func(a, b NamedPair) int {
		return slices.Compare([]string{a.Worktree, string(a.Kind), a.Name}, []string{b.Worktree, string(b.Kind), b.Name})
	})
	return names, nil
}

// list gives the names in a directory of ours, but for temporary files; an
// absent one is empty.
func (s *Store) list(dir string) ([]string, error) {
	list, err := s.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("list names", dir, err)
	}
	var names []string
	for _, e := range list {
		if !durable.IsTemp(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// RemoveName frees a name; the pair stays. Absent is not an error; its
// absence is durable after nil.
func (s *Store) RemoveName(ctx context.Context, project, worktree string, kind PairKind, name string) error {
	file, err := s.nameFile(project, worktree, kind, name)
	if err != nil {
		return err
	}
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return failed("remove name", name, durable.Remove(s.fs, file))
}
