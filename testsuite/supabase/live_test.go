//go:build live

package supabase

import (
	"slices"
	"strings"
	"testing"
)

// TestLive tells the main story with Supabase's own services: the CLI
// downloads them, because neither a lock nor a variable leads it to the
// archives of the test world.
func TestLive(t *testing.T) {
	w := newWorld(t, map[string]string{"README.md": "a notebook\n"})
	for name, text := range fixture(t, nil) {
		w.Write(t, name, text)
	}
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "the project")
	w.Env = slices.DeleteFunc(w.Env, func(v string) bool { return strings.HasPrefix(v, "SUPABASE_INTERNAL_") })
	w.live = true
	tellStory(w)
	w.clean()
}
