package storage

import (
	"context"

	"forklift/storage/clock"
	"forklift/storage/internal/fskind"
	"forklift/storage/vfs"
)

// Remember makes the memory of a directory that a Patch has just made a
// manifest's tree, so that the next scan need not read what the patch wrote.
// The caller vouches that nothing has changed the directory since the patch,
// and names the files that the manifest does not describe byte for byte. unit is
// that of the tree. Call it after the flush: files that were written within
// the last moment are remembered as hints only.
func (s *Store) Remember(ctx context.Context, root vfs.Root, manifest ID, unit Unit, inexact map[string]bool) (*Memory, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	m := &Memory{store: s.id, generation: s.generation.Load()}
	trust := fskind.OfDir(root, ".").TimesMove() && unit == Pages
	rules := readingRules(&Rules{Unit: unit}, nil)
	now := clock.System{}.Now()
	var dir *openDir
	defer func() {
		if dir != nil {
			dir.leave()
		}
	}()
	err = s.walk(ctx, manifest, func(e *Entry) error {
		if e.Type != Regular || inexact[e.Path] {
			return nil
		}
		if parent := parentPath(e.Path); dir == nil || dir.path != parent {
			sub, err := root.OpenRoot(parent)
			if err != nil {
				return failed("open", parent, err)
			}
			if dir != nil {
				dir.leave()
			}
			dir = &openDir{Root: sub, path: parent}
			dir.use()
		}
		info, err := dir.Lstat(baseName(e.Path))
		if err != nil {
			return failed("look at", e.Path, err)
		}
		st := statOf(info)
		if !info.IsRegular() || st.size != e.Size {
			return corrupt("look at", e.Path, "%s is not what was restored", e.Path)
		}
		m.files = append(m.files, remembered{path: e.Path, stat: st, trusted: trust && st.settled(now),
			rules: rules, content: e.Content, xattrs: e.Xattrs})
		return nil
	})
	if err != nil {
		return nil, failed("remember tree", "", err)
	}
	return m, nil
}
