package failpoint_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"forklift/storage/failpoint"
	"forklift/storage/vfs"
)

// TestEveryChangeOfTheDiskIsAHit makes each state-changing call on the disk
// and expects one hit for each.
func TestEveryChangeOfTheDiskIsAHit(t *testing.T) {
	var hits []string
	defer failpoint.Watch(func(op, path string) { hits = append(hits, op+" "+path) })()
	r, err := vfs.OS().OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := r.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(_ int, err error) error { return err }
	errs := []error{
		write(f.Write([]byte("abc"))), write(f.WriteAt([]byte("x"), 1)), f.Truncate(2), f.Sync(),
		r.Mkdir("d", 0o700), r.Rename("f", "g"), r.Link("g", "h"), r.Symlink("g", "l"),
		r.Chmod("g", 0o400), r.Chown("g", -1, -1), r.Chtimes("g", 5), r.SetXattr("g", vfs.Xattr{Name: "user.x"}),
		r.Remove("h"), r.SyncDir("."), r.SyncFS("."),
	}
	lock, err := r.Lock("lock", true)
	errs = append(errs, err, lock.Unlock())
	lock, err = r.Lock("lock", true) // exists now: no change
	errs = append(errs, err, lock.Unlock())
	trunc, err := r.OpenFile("g", os.O_WRONLY|os.O_TRUNC, 0)
	errs = append(errs, err, trunc.Close())
	// Nothing of this changes anything.
	_, err = r.ReadDir(".")
	errs = append(errs, err)
	_, err = r.Lstat("g")
	errs = append(errs, err)
	for i, err := range errs {
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	want := "create f, write f, write f, truncate f, sync f, mkdir d, rename g, link h, symlink l, chmod g, chown g, " +
		"utimes g, setxattr g, remove h, syncdir ., syncfs ., create lock, truncate g"
	if got := strings.Join(hits, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
