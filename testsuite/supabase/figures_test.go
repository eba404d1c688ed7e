//go:build figures

package supabase

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/testsuite/internal/supaworld"
)

const (
	figureRounds = 3
	uploadFiles  = 20
	uploadBytes  = 5 << 20 // of each
)

// measured is what a verb's --json answer says that matters here.
type measured struct {
	WallMs     int64 `json:"wall_ms"`
	AwayMs     int64 `json:"away_ms"`
	AddedBytes int64 `json:"added_bytes"`
}

// median is the middle one of some durations.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// timed runs f some times and gives the median of the wall time.
func timed(f func()) time.Duration {
	var all []time.Duration
	for range figureRounds {
		start := time.Now()
		f()
		all = append(all, time.Since(start))
	}
	return median(all)
}

// TestFigures prints what setup, restart, capture and restore of a stack take
// beside the CLI alone. It judges nothing.
func TestFigures(t *testing.T) {
	var lines []string
	note := func(what string, took time.Duration, more string) {
		lines = append(lines, fmt.Sprintf("%-44s %8d ms  %s", what, took.Milliseconds(), more))
	}
	bare(t, note)

	w := newWorld(t, fixture(t, nil))
	start := time.Now()
	anybody, service := w.setUp()
	note("forklift setup and first start", time.Since(start), "")
	note("forklift db stop + db start", timed(func() { w.forklift("db", "stop"); w.forklift("db", "start") }), "")
	user, _, err := anybody.SignUp(ada, adaWord)
	must(t, err)
	big := make([]byte, uploadBytes)
	for n := range uploadFiles {
		if _, err := rand.Read(big); err != nil {
			t.Fatal(err)
		}
		must(t, service.Upload("files", fmt.Sprintf("big/%d", n), supaworld.File{Data: string(big), ContentType: "application/octet-stream", CacheControl: "no-cache"}))
	}
	verb := func(what string, args ...string) {
		t.Helper()
		var m measured
		start := time.Now()
		decode(t, w.forklift(append(args, "--json")...), &m)
		note(what, time.Since(start), fmt.Sprintf("away %d ms, %d bytes stored", m.AwayMs, m.AddedBytes))
	}
	verb("capture after 100 MB of uploads", "capture", "full")
	for n := range figureRounds {
		must(t, user.Insert("notes", map[string]string{"body": fmt.Sprint("row ", n)}))
		verb("capture after one row more", "capture", fmt.Sprint("row", n))
	}
	for n := range figureRounds {
		must(t, user.Insert("notes", map[string]string{"body": "unsaved"}))
		verb("restore", "restore", fmt.Sprint("row", n))
	}
	verb("undo", "undo")
	fmt.Println(strings.Join(lines, "\n"))
}

// bare measures the CLI alone.
func bare(t *testing.T, note func(string, time.Duration, string)) {
	t.Helper()
	w := newWorld(t, fixture(t, map[string]string{"supabase/config.toml": "project_id = \"notebook\"\n[db]\nmajor_version = 17\n"}))
	home := filepath.Join(w.Root, "w", "stack")
	must(t, os.Mkdir(home, 0o711))
	cli := func(args ...string) {
		t.Helper()
		r := w.Exec(t, deadline, []string{"SUPABASE_EXPERIMENTAL_STACK=1", "SUPABASE_HOME=" + home}, filepath.Join(shared.hub.CLI, "supabase"), args...)
		if r.Code != 0 {
			t.Fatalf("supabase %v: %v", args, r)
		}
	}
	options := []string{"stack", "start", "--runtime", "native", "--output-format", "json"}
	var config struct {
		Supabase struct{ Exclude []string }
	}
	must(t, json.Unmarshal([]byte(forkliftJSON), &config))
	for _, service := range config.Supabase.Exclude {
		options = append(options, "-x", service)
	}
	start := time.Now()
	cli(options...)
	defer cli("stack", "destroy", "--yes")
	note("supabase stack start, the first", time.Since(start), "")
	note("supabase stack stop + stack start", timed(func() { cli("stack", "stop"); cli(options...) }), "")
}
