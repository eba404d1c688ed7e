package storage

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func allow(context.Context, PairID) error { return nil }

var firstName = NameRef{"project", "worktree", Capture, "first"}

// metaLab is a store with one named pair, small.
func metaLab(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	l := &lab{t: t, fs: m, dir: "/lab"}
	l.ok(m.Mkdir("/lab", 0o700))
	l.write("tree/a", []byte("content"))
	l.ok(publish(m, firstPair, "first"))
	l.ok(m.SyncFS("/lab"))
	return m
}

func onStore(fsys vfs.FS, f func(s *Store) error) error {
	s, err := Open(context.Background(), fsys, "/lab/store")
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// namesOf gives the names that lead to the first pair, and what it says of itself.
func namesOf(t *testing.T, fsys vfs.FS) (names []string, p *Pair) {
	t.Helper()
	err := onStore(fsys, func(s *Store) error {
		list, err := s.Names(t.Context(), "project", "")
		if err != nil {
			return err
		}
		for _, n := range list {
			names = append(names, n.Name)
			if id, err := s.Name(t.Context(), "project", "worktree", Capture, n.Name); err != nil || id != firstPair {
				t.Errorf("%s: %s, %v", n.Name, id, err)
			}
		}
		p, err = s.Pair(t.Context(), "project", firstPair)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, p
}

func TestRenameNoteProtect(t *testing.T) {
	m := metaLab(t)
	err := onStore(m, func(s *Store) error {
		ref := PairRef{"project", firstPair}
		return errors.Join(
			s.ChangeMeta(t.Context(), ref, func(m *Meta) { m.Note, m.Protected = "a note", true }),
			s.ChangeName(t.Context(), firstName, "Second", allow),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	names, p := namesOf(t, m)
	if !slices.Equal(names, []string{"Second"}) || p.Name != "Second" || p.Note != "a note" || !p.Protected {
		t.Errorf("%v %+v", names, p)
	}
	err = onStore(m, func(s *Store) error {
		for what, f := range map[string]func() error{
			"absent":  func() error { return s.ChangeName(t.Context(), firstName, "third", allow) },
			"invalid": func() error { return s.ChangeName(t.Context(), firstName, "a b", allow) },
			"refused": func() error {
				return s.ChangeName(t.Context(), NameRef{"project", "worktree", Capture, "Second"}, "third", func(context.Context, PairID) error { return errStop })
			},
			"long note": func() error {
				return s.ChangeMeta(t.Context(), PairRef{"project", firstPair}, func(m *Meta) { m.Note = strings.Repeat("x", MaxNoteBytes+1) })
			},
			"no pair": func() error { return s.ChangeMeta(t.Context(), PairRef{"project", laterPair}, func(*Meta) {}) },
		} {
			if f() == nil {
				t.Errorf("%s: no error", what)
			}
		}
		// The old name is free, the new one is not.
		if err := s.SetName(t.Context(), "project", "worktree", Capture, "Second", firstPair); !errors.Is(err, fs.ErrExist) {
			t.Errorf("taken: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A rename is one switch: exactly one of the two names holds at any moment.
func TestPowerCutAtEveryCallOfRename(t *testing.T) {
	prepared := metaLab(t)
	seen := map[string]bool{}
	for n := 1; ; n++ {
		m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		m.CutAt(n)
		err := onStore(m, func(s *Store) error { return s.ChangeName(t.Context(), firstName, "second", allow) })
		after := m.CrashClone(vfs.CrashOptions{Seed: uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		names, p := namesOf(t, after)
		if len(names) != 1 || names[0] != p.Name || err == nil && names[0] != "second" {
			t.Fatalf("call %d (%v): %v, %s", n, err, names, p.Name)
		}
		seen[names[0]] = true
		// Whatever was left, both directions work, and a forget leaves nothing.
		to := map[string]string{"first": "second", "second": "first"}[names[0]]
		err2 := onStore(after, func(s *Store) error {
			now := NameRef{"project", "worktree", Capture, names[0]}
			if err := s.ChangeName(t.Context(), now, to, allow); err != nil {
				return err
			}
			now.Name = to
			return s.Forget(t.Context(), []NameRef{now}, func(context.Context, []*Pair) error { return nil })
		})
		if err2 != nil {
			t.Fatalf("call %d: afterwards: %v", n, err2)
		}
		if _, err := prune(after, PruneOptions{}); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		left, err2 := snapshot(after, "/lab/store")
		if err2 != nil {
			t.Fatal(err2)
		}
		for name, what := range left {
			if strings.HasPrefix(what, "file") && strings.Contains(name, "/") && !strings.Contains(name, "/.tmp-") {
				t.Errorf("call %d: left: %s", n, name)
			}
		}
		if !m.Cut() {
			if !seen["first"] || !seen["second"] {
				t.Errorf("seen: %v", seen)
			}
			return
		}
	}
}

func TestForgetAsks(t *testing.T) {
	m := metaLab(t)
	err := onStore(m, func(s *Store) error {
		return s.Forget(t.Context(), []NameRef{firstName, {"project", "worktree", Capture, "absent"}}, func(_ context.Context, pairs []*Pair) error {
			if len(pairs) != 1 || pairs[0].ID != firstPair {
				t.Errorf("%v", pairs)
			}
			return errStop
		})
	})
	if err != errStop {
		t.Error(err)
	}
	namesOf(t, m)
	if err := forgetFirst(m); err != nil {
		t.Error(err)
	}
	err = onStore(m, func(s *Store) error {
		_, err := s.Pair(t.Context(), "project", firstPair)
		return err
	})
	if fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}
