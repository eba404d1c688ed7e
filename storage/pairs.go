package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"

	"github.com/oklog/ulid/v2"
)

// pairFormat is the version of a pair's JSON.
const pairFormat = 1

// pairSuffix ends the names of pair files.
const pairSuffix = ".json"

// MaxPairs is how many pairs of one project are listed at most.
const MaxPairs = 100_000

// NewPairID makes an id for a pair that is made at a time.
func NewPairID(now time.Time) PairID {
	id, err := ulid.New(ulid.Timestamp(now), rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail, and the year 10889 is far
	}
	return PairID(strings.ToLower(id.String()))
}

// valid says whether an id has the form of one.
func (id PairID) valid() bool {
	parsed, err := ulid.ParseStrict(string(id))
	return err == nil && strings.ToLower(parsed.String()) == string(id)
}

// Time is when the id was made, to the millisecond; zero for what is no id.
func (id PairID) Time() time.Time {
	parsed, err := ulid.ParseStrict(string(id))
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(parsed.Time()).UTC()
}

// The states of a database in a pair.
const (
	// StateClean is a cluster that was stopped cleanly.
	StateClean = "clean"
	// StateRecover is one that needs recovery when it starts: reserved.
	StateRecover = "recover"
	// StateKept is a database that could not be brought to rest: it has no
	// trees, its slot is kept byte for byte where the worktree's slots are.
	StateKept = "kept"
)

// manifests lists the roots that a pair names.
func (p *Pair) manifests() []ID {
	var ids []ID
	if !p.Source.Manifest.IsZero() {
		ids = append(ids, p.Source.Manifest)
	}
	for _, d := range p.Databases {
		for _, t := range d.Trees {
			if !t.Manifest.IsZero() {
				ids = append(ids, t.Manifest)
			}
		}
	}
	return ids
}

// checkPair refuses what this version cannot restore.
func checkPair(p *Pair) error {
	if !p.ID.valid() {
		return fmt.Errorf("%q is no id of a pair", p.ID)
	}
	if _, ok := kindPrefix[p.Kind]; !ok {
		return unknownState(fmt.Errorf("pair of unknown kind %q", p.Kind))
	}
	for _, d := range p.Databases {
		switch d.State {
		case StateClean, StateRecover, StateKept:
		default:
			return unknownState(fmt.Errorf("database in unknown state %q", d.State))
		}
	}
	return nil
}

func unknownState(err error) error {
	return &fault.Error{Kind: fault.Unsupported, Err: err, Hint: "Use a newer version of forklift."}
}

// element gives the file name for an id of a project or worktree.
func element(id string) (string, error) {
	if id == "" {
		return "=", nil
	}
	if err := ValidName(id); err != nil {
		return "", err
	}
	return encodeName(id), nil
}

// pairName gives the file of a pair.
func (s *Store) pairName(project string, id PairID) (string, error) {
	dir, err := element(project)
	if err != nil {
		return "", err
	}
	if !id.valid() {
		return "", misuse("name pair", string(id), "%q is no id of a pair", id)
	}
	return s.path(pairsDir, dir, string(id)+pairSuffix), nil
}

// PutPair stores a pair. Everything it names must be committed: it checks
// that the roots are stored and that every pack that the store rests on is there with its
// size. A pair cannot be replaced: fs.ErrExist.
//
// After nil it is durable. After an error or a crash it is absent or whole.
func (s *Store) PutPair(ctx context.Context, p *Pair) error {
	const op = "store pair"
	if err := checkPair(p); err != nil {
		return failed(op, string(p.ID), err)
	}
	name, err := s.pairName(p.Project, p.ID)
	if err != nil {
		return err
	}
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkReferences(ctx, p); err != nil {
		return failed(op, string(p.ID), err)
	}
	if err := s.makeDir(path.Dir(name)); err != nil {
		return failed(op, name, err)
	}
	return failed(op, name, record.Create(s.fs, name, "pair", pairFormat, p))
}

// checkReferences makes sure that a pair can be restored, as far as that is
// told without reading all of it. When a pack is missing that is not far
// enough: then all that the pair names is looked up.
func (s *Store) checkReferences(ctx context.Context, p *Pair) error {
	if err := s.blobs.load(); err != nil {
		return err
	}
	for _, id := range p.manifests() {
		if _, err := s.blobs.find(id); err != nil {
			return err
		}
		if !s.blobs.damaged() {
			continue
		}
		if err := s.lookUpAll(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// lookUpAll makes sure that every blob of a manifest is in an intact pack.
func (s *Store) lookUpAll(ctx context.Context, manifest ID) error {
	var near nearby
	return s.walk(ctx, manifest, func(e *Entry) error {
		if e.Type != Regular {
			return nil
		}
		return s.leaves(e.Content, e.Size, func(l leaf) error {
			_, err := near.find(&s.blobs, l.id)
			return failed("look up", e.Path, err)
		})
	})
}

// makeDir makes a directory of the store durable, with those above it.
func (s *Store) makeDir(dir string) error {
	list, err := s.fs.ReadDir(dir)
	if err == nil && len(list) > 0 {
		return nil // what is in it was made durable after it
	}
	return durable.MkdirAll(s.fs, dir, dirPerm)
}

// Pair reads a pair: kind NotFound if there is none, Unsupported if this
// version cannot restore it, Corrupt if it is not what was stored.
func (s *Store) Pair(ctx context.Context, project string, id PairID) (*Pair, error) {
	name, err := s.pairName(project, id)
	if err != nil {
		return nil, err
	}
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.readPair(name, project, id)
}

func (s *Store) readPair(name, project string, id PairID) (*Pair, error) {
	const op = "read pair"
	var p Pair
	err := record.Read(s.fs, name, "pair", pairFormat, &p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: op, Path: string(id), Kind: fault.NotFound, Err: fmt.Errorf("there is no pair %s", id)}
	}
	if err == nil {
		err = checkPair(&p)
	}
	if err == nil && (p.ID != id || p.Project != project) {
		err = corrupt(op, name, "it is pair %s of project %q", p.ID, p.Project)
	}
	if err == nil {
		err = s.overlay(&p)
	}
	if err != nil {
		return nil, failed(op, name, err)
	}
	return &p, nil
}

// pairIDs lists the pairs of a project, oldest first.
func (s *Store) pairIDs(project string) ([]PairID, error) {
	dir, err := element(project)
	if err != nil {
		return nil, err
	}
	dir = s.path(pairsDir, dir)
	list, err := s.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("list pairs", dir, err)
	}
	if len(list) > MaxPairs {
		return nil, misuse("list pairs", dir, "more than %d pairs", MaxPairs)
	}
	var ids []PairID
	for _, e := range list {
		if id, ok := strings.CutSuffix(e.Name, pairSuffix); ok && PairID(id).valid() {
			ids = append(ids, PairID(id))
		}
	}
	return ids, nil
}

// Pairs reads all pairs of a project, oldest first; "" has the seeds and
// templates.
func (s *Store) Pairs(ctx context.Context, project string) ([]*Pair, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ids, err := s.pairIDs(project)
	if err != nil {
		return nil, err
	}
	var pairs []*Pair
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, failed("read pairs", "", err)
		}
		name, err := s.pairName(project, id)
		if err != nil {
			return nil, err
		}
		p, err := s.readPair(name, project, id)
		if fault.KindOf(err) == fault.NotFound {
			continue // deleted since the list
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// DeletePair removes a pair that no name leads to: one of an interrupted
// capture. What it stored stays until a prune. Absent is not an error; its absence
// is durable after nil.
func (s *Store) DeletePair(ctx context.Context, project string, id PairID) error {
	name, err := s.pairName(project, id)
	if err != nil {
		return err
	}
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return failed("delete pair", name, durable.Remove(s.fs, name))
}
