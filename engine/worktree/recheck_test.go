package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"testing"

	"forklift/storage"

	"github.com/google/go-cmp/cmp"
)

// TestRecheckIsTheSameAsAScan does random edits and tells of the touched paths;
// the list must always be that of a scan.
func TestRecheckIsTheSameAsAScan(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(20) {
		w := newWorld(t)
		m := w.memory(tree{"src/a": file("a"), "src/b": file("b"), "src/d/x": file("x"), "src/d/y": file("y"), "src/l": link("a"), "src/z.log": file("z"), "lib/q": file("q"), "other": file("o")})
		s := sel("src", "lib/q")
		s.Ignore = []string{"*.log"}
		then := w.scan(m, top, s, nil, nil)
		rules, err := Rules(RuleOptions{FS: m, Dir: top, Selection: s})
		check(t, err)
		opt := RecheckOptions{ChangeOptions: ChangeOptions{FS: m, Dir: top, Store: w.store, Rules: rules, Manifest: then.Manifest, Limit: 1000},
			Lookup: func(ctx context.Context, p string) (storage.Entry, bool, error) {
				return w.store.Lookup(ctx, then.Manifest, p)
			}}
		rnd := rand.New(rand.NewPCG(seed, 7))
		names := []string{"src/a", "src/b", "src/new", "src/odd\xff", "src/d/x", "src/d/new", "src/l", "src/z.log", "src/e/f", "lib/q", "lib/r", "other", "src/d", "src/a/b"}
		single := 0
		for step := range 60 {
			m.Advance(1e9)
			opt.Paths = nil
			for range 1 + rnd.IntN(3) {
				p := names[rnd.IntN(len(names))]
				opt.Paths = append(opt.Paths, p)
				switch rnd.IntN(5) {
				case 0, 1: // whatever fails changes nothing
					if f, err := m.OpenFile(top+"/"+p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644); err == nil {
						_, _ = f.Write(fmt.Append(nil, rnd.IntN(3)))
						check(t, f.Close())
					}
				case 2:
					_ = m.Remove(top + "/" + p)
				case 3:
					_ = m.Chmod(top+"/"+p, fs.FileMode(0o600+0o100*rnd.IntN(2)))
				default:
					_ = m.Mkdir(top+"/"+path.Dir(p), 0o755)
				}
				opt.Paths = append(opt.Paths, path.Dir(p))
				if rnd.IntN(4) > 0 {
					opt.Paths = opt.Paths[:len(opt.Paths)-1] // no directory was made
					if _, err := m.Lstat(top + "/" + path.Dir(p)); err != nil {
						opt.Paths = append(opt.Paths, path.Dir(p))
					}
				}
			}
			want, n, err := Changes(ctx, opt.ChangeOptions)
			check(t, err)
			got, ok, err := Recheck(ctx, opt)
			check(t, err)
			if ok {
				single++
				if d := cmp.Diff(want, got); len(want)+len(got) > 0 && d != "" {
					t.Fatalf("seed %d, step %d, touched %q:\n%s", seed, step, opt.Paths, d)
				}
			}
			if n != len(want) {
				t.Fatalf("%d of %d changes", len(want), n)
			}
			opt.Known = want
		}
		if single < 10 {
			t.Errorf("seed %d: only %d steps were rechecked", seed, single)
		}
	}
}
