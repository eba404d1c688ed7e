package storage

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// NameRef is a name in its namespace.
type NameRef struct {
	Project  string   `json:"project"`
	Worktree string   `json:"worktree"`
	Kind     PairKind `json:"kind"`
	Name     string   `json:"name"`
}

// Forget removes names with their pairs. What the pairs held stays stored
// until a prune. It waits until nobody else uses the store; allowed is asked then, with the
// pairs that would go, and may refuse all.
//
// After nil they are gone, durably. After an error or a crash each is there,
// whole, or gone. Absent is not an error.
func (s *Store) Forget(ctx context.Context, names []NameRef, allowed func(context.Context, []*Pair) error) error {
	own, release, err := s.excluding(ctx)
	if err != nil {
		return err
	}
	defer release()
	var pairs []*Pair
	for _, n := range names {
		id, err := own.Name(ctx, n.Project, n.Worktree, n.Kind, n.Name)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		p, err := own.Pair(ctx, n.Project, id)
		if err != nil {
			return err
		}
		pairs = append(pairs, p)
	}
	if err := allowed(ctx, pairs); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed("forget", "", err)
	}
	return own.forget(names)
}

// forget removes names and pairs; the lock is held exclusively. The pair
// goes behind its name, so that no name ever leads nowhere.
func (s *Store) forget(names []NameRef) error {
	for _, n := range names {
		file, err := s.nameFile(n.Project, n.Worktree, n.Kind, n.Name)
		if err != nil {
			return err
		}
		body, err := s.readName(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.removeNamesOf(file, body); err != nil {
			return failed("forget", n.Name, err)
		}
		if err := s.removePair(PairRef{n.Project, body.Pair}); err != nil {
			return err
		}
	}
	return nil
}

// removeNamesOf removes a name, behind what a killed rename left of others
// that lead to the same pair.
func (s *Store) removeNamesOf(file string, body nameBody) error {
	dir := s.dirOf(file)
	others, err := s.list(dir)
	if err != nil {
		return err
	}
	for _, other := range others {
		name := dir + "/" + other
		if name == file {
			continue
		}
		// One that cannot be read is another's damage; repair deals with it.
		if b, err := s.readName(name); err == nil && b.Pair == body.Pair {
			if err := durable.Remove(s.fs, name); err != nil {
				return err
			}
		}
	}
	return durable.Remove(s.fs, file)
}

// neededPairs reads all pairs that a name or a root leads to, but for those
// of the names in forget, and lists those that nothing leads to. Damage ends it.
func (s *Store) neededPairs(ctx context.Context, roots Roots, forget []NameRef) (needed []*Pair, unnamed []PairRef, err error) {
	named := map[PairRef]bool{}
	for _, ref := range roots.Pairs {
		named[ref] = true
	}
	projects, err := s.list(s.path(namesDir))
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range projects {
		if err := s.eachName(dir, func(body nameBody) error {
			ref := NameRef{body.Project, body.Worktree, body.Kind, body.Name}
			ok, err := s.counts(body)
			if ok && !slices.Contains(forget, ref) {
				named[PairRef{body.Project, body.Pair}] = true
			}
			return err
		}); err != nil {
			return nil, nil, err
		}
	}
	going := map[PairRef]bool{}
	for _, n := range forget {
		if id, err := s.Name(ctx, n.Project, n.Worktree, n.Kind, n.Name); err == nil {
			going[PairRef{n.Project, id}] = true
		}
	}
	unnamed = []PairRef{}
	err = s.eachPair(func(name string, p *Pair, err error) error {
		if err != nil {
			return err
		}
		ref := PairRef{p.Project, p.ID}
		switch {
		case named[ref]:
			needed = append(needed, p)
			delete(named, ref)
		case !going[ref]:
			unnamed = append(unnamed, ref)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, nil, err
	}
	for ref := range named {
		if !slices.Contains(roots.Pairs, ref) {
			return nil, nil, corrupt("read names", s.path(namesDir), "a name leads to pair %s, which is not there", ref.ID)
		}
	}
	return needed, unnamed, nil
}

// eachName reads the names of a project's directory, also those that do not count.
func (s *Store) eachName(dir string, yield func(nameBody) error) error {
	subs, err := s.list(s.path(namesDir, dir))
	if err != nil {
		return err
	}
	for _, sub := range subs {
		files, err := s.list(s.path(namesDir, dir, sub))
		if err != nil {
			return err
		}
		for _, file := range files {
			body, err := s.readName(s.path(namesDir, dir, sub, file))
			if err != nil {
				return err
			}
			if err := yield(body); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachPair reads the pairs of all projects, in order; yield is told of what cannot be read.
func (s *Store) eachPair(yield func(file string, p *Pair, err error) error) error {
	projects, err := s.list(s.path(pairsDir))
	if err != nil {
		return err
	}
	for _, dir := range projects {
		files, err := s.list(s.path(pairsDir, dir))
		if err != nil {
			return err
		}
		for _, file := range files {
			name := s.path(pairsDir, dir, file)
			var p Pair
			err := record.Read(s.fs, name, "pair", pairFormat, &p)
			if err == nil {
				err = checkPair(&p)
			}
			if err == nil {
				if again, nameErr := s.pairName(p.Project, p.ID); nameErr != nil || again != name {
					err = corrupt("read pair", name, "it is pair %s of project %q", p.ID, p.Project)
				}
			}
			if err == nil {
				err = s.overlay(&p)
			}
			if err := yield(name, &p, err); err != nil {
				return err
			}
		}
	}
	return nil
}
