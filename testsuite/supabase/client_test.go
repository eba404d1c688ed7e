package supabase

import (
	"strings"
	"testing"
)

// TestSupabaseJS lets supabase-js, with what forklift run gives it, see the
// users, rows and files of before.
func TestSupabaseJS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fixture(t, nil))
	_, service := w.setUp()
	made := w.node("client.mjs", "make", ada, adaWord)
	const want = `{"notes":[{"body":"by ada@example.com"}],"files":[{"name":"letter.txt","text":"of ada@example.com","type":"text/x-letter","cache":"max-age=123"}]}`
	if got := strings.TrimSpace(made); got != want {
		t.Fatalf("supabase-js sees %s, want %s", got, want)
	}
	w.forklift("capture", "good")
	must(t, service.Upload("files", "a/letter.txt", newFile))
	w.query(`DELETE FROM auth.users`)
	w.query(`DELETE FROM storage.objects`) // so that the new user may upload her own
	w.node("client.mjs", "make", eve, eveWord)
	w.forklift("restore", "good")
	if got := strings.TrimSpace(w.node("client.mjs", "look", ada, adaWord)); got != want {
		t.Errorf("after restore supabase-js sees %s, want %s", got, want)
	}
	if got := w.node("client.mjs", "look", eve, eveWord); !strings.Contains(got, "Invalid login credentials") {
		t.Errorf("after restore the new user sees %s", got)
	}
	w.clean()
}
