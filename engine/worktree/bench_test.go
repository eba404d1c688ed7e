package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"forklift/storage"
	"forklift/storage/vfs"
)

// BenchmarkRestore stages and installs a thousand changed files among ten
// thousand, on the real disk, there and back.
func BenchmarkRestore(b *testing.B) {
	const files, changed = 10_000, 1_000
	dir, err := filepath.EvalSymlinks(b.TempDir())
	check(b, err)
	fsys := vfs.OS()
	store, err := storage.Create(context.Background(), fsys, dir+"/store")
	check(b, err)
	defer store.Close()
	w := &world{t: b, store: store, clock: newWorld(b).clock}
	check(b, fsys.Mkdir(dir+"/tree", 0o755))
	check(b, fsys.Mkdir(dir+"/tree/.git", 0o755))
	content := tree{}
	for i := range files {
		content[fmt.Sprintf("src/d%d/f%d", i%100, i)] = file(fmt.Sprintf("file %d\n%0*d", i, 2000, i))
	}
	plant(b, fsys, dir+"/tree", content)
	one := w.scan(fsys, dir+"/tree", sel("src"), nil, nil)
	for i := range changed {
		write(b, fsys, fmt.Sprintf("%s/tree/src/d%d/f%d", dir, i%100, i), fmt.Sprintf("changed %d", i))
	}
	two := w.scan(fsys, dir+"/tree", sel("src"), nil, nil)
	ctx := context.Background()
	for i := 0; b.Loop(); i++ {
		opt := w.options(fsys, dir+"/tree", two, one)
		if i%2 == 1 {
			opt.Saved, opt.Target = one, two
		}
		in, err := Stage(ctx, opt)
		check(b, err)
		list, err := finish(ctx, in)
		check(b, err)
		if len(list) > 0 {
			b.Fatalf("rescued %v", list)
		}
	}
}
