package realinput

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
)

// TestLargeSources captures and restores a large file and many small ones;
// a restore writes exactly those that differ.
func TestLargeSources(t *testing.T) {
	size, count := int64(32<<20), 2000
	if everything {
		size, count = 2<<30, 100_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, "")
	large := filepath.Join(w.Repo, "src", "large.bin")
	fill(t, large, size, rand.NewChaCha8([32]byte{byte(seed)}))
	for i := range count {
		w.Write(t, fmt.Sprintf("src/d%02d/e%02d/f%d.txt", i%50, i/50%40, i), fmt.Sprintf("file %d of %d\n", i, seed))
	}
	before := w.files()
	w.forklift("capture", "full")

	// One page in the middle of the large file, some small ones gone, some changed.
	file, err := os.OpenFile(large, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("changed"), size/2); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for _, i := range r.Perm(count)[:count/10] {
		name := filepath.Join(w.Repo, fmt.Sprintf("src/d%02d/e%02d/f%d.txt", i%50, i/50%40, i))
		if i%2 == 0 {
			err = os.Remove(name)
		} else {
			err = os.WriteFile(name, []byte("changed\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	after := w.files()
	var result struct {
		Changed int `json:"changed"`
	}
	decode(t, w.forklift("restore", "full", "--json"), &result)
	if want := count/10 + 1; result.Changed != want {
		t.Errorf("%d files were written, want %d", result.Changed, want)
	}
	if d := harness.FirstDifference(w.files(), before); d != "" {
		t.Fatalf("after the restore: %s", d)
	}
	w.forklift("undo")
	if d := harness.FirstDifference(w.files(), after); d != "" {
		t.Fatalf("after the undo: %s", d)
	}
	w.forklift("check", "--read-data")
}

// fill writes size random bytes.
func fill(t *testing.T, name string, size int64, r *rand.ChaCha8) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(block)) {
		_, _ = r.Read(block) // never fails
		if _, err := file.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
