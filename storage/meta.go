package storage

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// metaFormat is the version of the JSON of what may change about a pair.
const metaFormat = 1

// MaxNoteBytes is the longest note of a checkpoint.
const MaxNoteBytes = 64 << 10

// Meta is what may change about a pair, which itself never does: the record
// meta/<project>/<pair>.json. A pair without one has the name and the note
// that it was made with, and is not protected.
type Meta struct {
	Name      string `json:"name"` // which of the names that lead to it counts
	Note      string `json:"note,omitempty"`
	Protected bool   `json:"protected,omitempty"` // it is never forgotten
}

// metaBody is the record.
type metaBody struct {
	Pair PairID `json:"pair"`
	Meta
}

func (s *Store) metaName(ref PairRef) (string, error) {
	name, err := s.pairName(ref.Project, ref.ID)
	if err != nil {
		return "", err
	}
	return s.path(metaDir, path.Base(path.Dir(name)), path.Base(name)), nil
}

// readMeta gives nil for a pair that has none.
func (s *Store) readMeta(ref PairRef) (*Meta, error) {
	name, err := s.metaName(ref)
	if err != nil {
		return nil, err
	}
	var body metaBody
	err = record.Read(s.fs, name, "meta", metaFormat, &body)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && body.Pair != ref.ID {
		err = corrupt("read meta", name, "it is of pair %s", body.Pair)
	}
	return &body.Meta, failed("read meta", name, err)
}

// overlay gives a pair that was read what has changed about it since it was made.
func (s *Store) overlay(p *Pair) error {
	m, err := s.readMeta(PairRef{p.Project, p.ID})
	if err != nil || m == nil {
		return err
	}
	p.Name, p.Note, p.Protected = m.Name, m.Note, m.Protected
	return nil
}

// writeMeta is durable when it returns nil.
func (s *Store) writeMeta(ref PairRef, m Meta) error {
	name, err := s.metaName(ref)
	if err != nil {
		return err
	}
	if err := s.makeDir(path.Dir(name)); err != nil {
		return failed("write meta", name, err)
	}
	return failed("write meta", name, record.Write(s.fs, name, "meta", metaFormat, metaBody{ref.ID, m}))
}

func (s *Store) removeMeta(ref PairRef) error {
	name, err := s.metaName(ref)
	if err != nil {
		return err
	}
	if _, err := s.fs.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return failed("remove meta", name, durable.Remove(s.fs, name))
}

// ChangeMeta changes the note of a pair, or whether it is protected: change
// gets what holds now. It waits until nobody else uses the store.
//
// After nil the change is durable. After an error or a crash the old or the
// new holds, whole.
func (s *Store) ChangeMeta(ctx context.Context, ref PairRef, change func(*Meta)) error {
	own, release, err := s.excluding(ctx)
	if err != nil {
		return err
	}
	defer release()
	p, err := own.Pair(ctx, ref.Project, ref.ID)
	if err != nil {
		return err
	}
	m := Meta{p.Name, p.Note, p.Protected}
	before := m
	change(&m)
	m.Name = before.Name // names change by ChangeName
	if len(m.Note) > MaxNoteBytes {
		return misuse("write note", p.Name, "the note has %d bytes; at most %d are kept", len(m.Note), MaxNoteBytes)
	}
	if m == before {
		return nil
	}
	return own.writeMeta(ref, m)
}

// ChangeName gives a named pair another name; the old one is free then. allowed
// is asked while nobody else uses the store, and may refuse.
//
// After nil it is durable. After an error or a crash exactly one of the two
// names holds: the meta record says which, and the other is as if it were not there.
func (s *Store) ChangeName(ctx context.Context, n NameRef, to string, allowed func(context.Context, PairID) error) error {
	const op = "rename"
	own, release, err := s.excluding(ctx)
	if err != nil {
		return err
	}
	defer release()
	next := n
	next.Name = to
	file, err := own.nameFile(n.Project, n.Worktree, n.Kind, to)
	if err != nil {
		return err
	}
	id, err := own.Name(ctx, n.Project, n.Worktree, n.Kind, n.Name)
	if err != nil {
		return err
	}
	if n.Name == to {
		return nil
	}
	if err := allowed(ctx, id); err != nil {
		return err
	}
	p, err := own.Pair(ctx, n.Project, id)
	if err != nil {
		return err
	}
	// Only a pair with a record of its own can have a name that does not count.
	if err := own.writeMeta(PairRef{n.Project, id}, Meta{n.Name, p.Note, p.Protected}); err != nil {
		return err
	}
	if err := own.freeStray(file); err != nil {
		return failed(op, to, err)
	}
	err = record.Create(own.fs, file, "name", nameFormat, nameBody{n.Project, n.Worktree, n.Kind, to, id})
	if errors.Is(err, fs.ErrExist) {
		return nameTaken(op, to)
	}
	if err != nil {
		return failed(op, to, err)
	}
	if err := own.writeMeta(PairRef{n.Project, id}, Meta{to, p.Note, p.Protected}); err != nil {
		return err
	}
	// The switch is made. What stays of the old name counts for nothing.
	return own.RemoveName(ctx, n.Project, n.Worktree, n.Kind, n.Name)
}

// excluding opens the store again and takes its lock alone, so that nobody
// else, in this process or another, reads or writes until release.
func (s *Store) excluding(ctx context.Context) (*Store, func(), error) {
	own, err := Open(ctx, s.fs, s.dir)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := own.LockExclusive(ctx, lockWait)
	if err != nil {
		_ = own.Close()
		return nil, nil, err
	}
	return own, func() { unlock(); _ = own.Close() }, nil
}

// taken is a name that another pair has; it is fs.ErrExist, whose own words
// would say it a second time.
type taken string

func (name taken) Error() string { return "the name " + string(name) + " is taken" }

func (taken) Is(target error) bool { return target == fs.ErrExist }

// nameTaken is the error for a name that another pair has.
func nameTaken(op, name string) error {
	return &fault.Error{Op: op, Path: name, Kind: fault.Usage, Err: taken(name),
		Hint: "Choose another name."}
}

// counts says whether a name holds: its pair has no other one since.
func (s *Store) counts(body nameBody) (bool, error) {
	m, err := s.readMeta(PairRef{body.Project, body.Pair})
	if err != nil || m == nil {
		return err == nil, err
	}
	return m.Name == body.Name, nil
}

// freeStray removes a name that a killed rename left and that does not
// count. The lock is held exclusively, or shared by the one who wants the name.
func (s *Store) freeStray(file string) error {
	body, err := s.readName(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if ok, err := s.counts(body); err != nil || ok {
		return err
	}
	return durable.Remove(s.fs, file)
}
