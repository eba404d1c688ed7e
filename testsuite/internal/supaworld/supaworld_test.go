package supaworld_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
	"forklift/testsuite/internal/supaworld"
)

// deadline is how long one run of the CLI may take.
const deadline = 3 * time.Minute

var hub *supaworld.Hub

func TestMain(m *testing.M) {
	harness.Main(m, func(bin, pg string) (err error) {
		hub, err = supaworld.Open(bin, pg)
		return err
	})
}

// TestTheWorldIsOne drives the CLI alone, without Forklift: what the world
// keeps outlives a stop, and only those log in who may.
func TestTheWorldIsOne(t *testing.T) {
	files, err := supaworld.Fixture()
	if err != nil {
		t.Fatal(err)
	}
	w := hub.NewWorld(t, hub.Project(files))
	env := []string{"SUPABASE_EXPERIMENTAL_STACK=1", "SUPABASE_HOME=" + filepath.Join(w.Root, "w", "stack")}
	cli := func(args ...string) string {
		t.Helper()
		r := w.Exec(t, deadline, env, filepath.Join(hub.CLI, "supabase"), args...)
		if r.Code != 0 {
			t.Fatalf("supabase %v: %v", args, r)
		}
		return r.Stdout
	}
	if err := os.Mkdir(filepath.Join(w.Root, "w", "stack"), 0o711); err != nil {
		t.Fatal(err)
	}
	// Fixed ports would meet those of another stack.
	config := filepath.Join(w.Repo, "supabase", "config.toml")
	if err := os.WriteFile(config, []byte("project_id = \"notebook\"\n[db]\nmajor_version = 17\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cli("stack", "start", "--runtime", "native", "--output-format", "json")
	t.Cleanup(func() { cli("stack", "destroy", "--yes") })
	vars := supaworld.Variables(cli("status", "--env", "--output-format", "text"))
	anybody := supaworld.Client{URL: vars["API_URL"], Key: vars["PUBLISHABLE_KEY"]}
	ada, id, err := anybody.SignUp("ada@example.com", "correct horse")
	if err != nil || id == "" {
		t.Fatalf("sign up: id %q, %v", id, err)
	}
	if err := ada.Insert("notes", map[string]string{"body": "first"}); err != nil {
		t.Fatal(err)
	}
	want := supaworld.File{Data: "a picture", ContentType: "image/x-test", CacheControl: "max-age=77"}
	if err := ada.Upload("files", "a/picture", want); err != nil {
		t.Fatal(err)
	}
	cli("stack", "stop")
	cli("stack", "start", "--runtime", "native", "--output-format", "json")
	ada, err = anybody.LogIn("ada@example.com", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ada.Download("files", "a/picture"); err != nil || got != want {
		t.Errorf("downloaded %+v, %v; want %+v", got, err, want)
	}
	for who, c := range map[string]supaworld.Client{`[{"body":"first"}]`: ada, `[]`: anybody} {
		if got, err := c.Select("notes?select=body"); err != nil || got != who {
			t.Errorf("notes are %s, %v; want %s", got, err, who)
		}
	}
	if _, err := anybody.LogIn("ada@example.com", "wrong"); !supaworld.IsRefused(err, 400) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := anybody.DeleteUser(id); !supaworld.IsRefused(err, 403) {
		t.Errorf("anybody deletes a user: %v", err)
	}
	admin := supaworld.Client{URL: vars["API_URL"], Key: vars["SECRET_KEY"]}
	if err := admin.DeleteUser(id); err != nil {
		t.Error(err)
	}
	if _, err := anybody.LogIn("ada@example.com", "correct horse"); !supaworld.IsRefused(err, 400) {
		t.Errorf("a deleted user: %v", err)
	}
	if got, err := admin.Select("topics?select=name&order=name"); err != nil || got != `[{"name":"garden"},{"name":"kitchen"}]` {
		t.Errorf("the seed's topics are %s, %v", got, err)
	}
}
