package worktree

import (
	"forklift/storage"
	"forklift/storage/vfs"
)

// aheadStats bounds how many entries of a directory are described ahead: half a
// megabyte.
const aheadStats = 4096

// listing is a directory that is held open, with what is in it. Its close gives it
// back.
type listing struct {
	dir     vfs.Root // nil when it is gone or cannot be read
	entries []vfs.Entry
	infos   []vfs.Info // of the first entries; without a name where there was an error
}

// readListing reads a directory, and describes its first entries, at most so many.
// One that is gone or cannot be read is empty.
func readListing(dir vfs.Root, name string, stats int) (*listing, error) {
	l := &listing{}
	sub, err := dir.OpenRoot(name)
	if absent(err) || unreadable(err) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.dir = sub
	if l.entries, err = sub.ReadDir("."); absent(err) || unreadable(err) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	stats = min(stats, len(l.entries))
	l.infos = make([]vfs.Info, 0, stats)
	for _, e := range l.entries[:stats] {
		info, err := sub.Lstat(e.Name)
		if err != nil {
			info = vfs.Info{} // whoever needs it asks again
		}
		l.infos = append(l.infos, info)
	}
	return l, nil
}

// info describes entry i.
func (l *listing) info(i int) (vfs.Info, error) {
	if i < len(l.infos) && l.infos[i].Name != "" {
		return l.infos[i], nil
	}
	return l.dir.Lstat(l.entries[i].Name)
}

func (l *listing) close() {
	if l.dir != nil {
		_ = l.dir.Close()
	}
}

// sibling is a directory that was decided about, and mostly is read, while what
// comes before it is looked at.
type sibling struct {
	index    int // among the entries of the listing that it is in
	info     vfs.Info
	decision storage.Decision
	read     chan struct{} // closed when what follows is there; nil when it is not entered
	listing  *listing
	err      error
}

// take waits until the directory is read.
func (s *sibling) take() (*listing, error) {
	<-s.read
	l, err := s.listing, s.err
	s.listing = nil
	return l, err
}

// drop gives back what nobody took. s may be nil.
func (s *sibling) drop() {
	if s == nil || s.read == nil {
		return
	}
	if l, _ := s.take(); l != nil {
		l.close()
	}
}

// readSibling finds the first directory among the entries of a listing from number
// from on and, if it counts, has it read meanwhile. nil when there is none.
func (c *comparer) readSibling(l *listing, p string, from int) *sibling {
	for i := from; i < len(l.entries); i++ {
		if !l.entries[i].Type.IsDir() {
			continue
		}
		info, err := l.info(i)
		if err != nil || !info.IsDir() {
			continue // whoever comes to it sees that
		}
		s := &sibling{index: i, info: info, decision: c.choose(join(p, l.entries[i].Name), info)}
		if s.decision.Action == storage.Keep {
			s.read = make(chan struct{})
			go func() {
				defer close(s.read)
				s.listing, s.err = readListing(l.dir, l.entries[i].Name, aheadStats)
			}()
		}
		return s
	}
	return nil
}

// join is the path of a name in a directory of the worktree.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
