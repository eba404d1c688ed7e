package supabase

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forklift/testsuite/internal/harness"
	"forklift/testsuite/internal/supaworld"
)

// everything asks for every step (make torture).
var everything = os.Getenv("FORKLIFT_TORTURE") == "all"

// sweeps are the verbs that are killed, in a world that rests on checkpoint
// "one" and went on from there.
var sweeps = map[string]struct {
	argv    []string
	running bool // the stack runs when the verb begins
	always  bool // not only with everything
}{
	"captureRunning": {[]string{"capture", "two"}, true, true},
	"restoreRunning": {[]string{"restore", "one"}, true, true},
	"restore":        {[]string{"restore", "one"}, false, false},
	"undo":           {[]string{"undo"}, false, true},
}

// parts is everything that a verb may change, by its four parts and the names
// of the checkpoints.
type parts map[string]string

// difference names the first part that differs; "" for none.
func (p parts) difference(want parts) string {
	for _, part := range []string{"names", "code", "database", "users", "files"} {
		if d := harness.FirstDifference(p[part], want[part]); d != "" {
			return part + ": " + d
		}
	}
	return ""
}

// killed is a world at rest with a copy of it.
type killed struct {
	*world
	copy string
}

// prepare makes the world of the sweeps.
func prepare(t *testing.T) killed {
	t.Helper()
	root := shared.killing.NewWorld(t, shared.killing.Project(fixture(t, nil)))
	w := &world{World: root, t: t}
	w.forklift("setup", "--yes")
	anybody, service := w.start()
	user, id, err := anybody.SignUp(ada, adaWord)
	must(t, err)
	must(t, user.Insert("notes", map[string]string{"body": "first"}))
	must(t, user.Upload("files", "a/picture", oldFile))
	w.forklift("capture", "one")
	w.query(`CREATE TABLE between (x int)`)
	w.Write(t, "src/app.js", "export const version = 1.5\n")
	w.forklift("restore", "one")
	must(t, service.DeleteUser(id))
	_, _, err = anybody.SignUp(eve, eveWord)
	must(t, err)
	must(t, service.Upload("files", "a/picture", newFile))
	w.query(`CREATE TABLE more (x int); INSERT INTO topics (name) VALUES ('attic')`)
	w.Write(t, "src/app.js", "export const version = 2\n")
	k := killed{w, filepath.Join(w.Root, "copy")}
	k.rest()
	k.mirror("w", "copy")
	return k
}

// mirror copies a directory of the world with owners, modes, times and
// extended attributes.
func (k killed) mirror(from, to string) {
	k.t.Helper()
	must(k.t, os.RemoveAll(filepath.Join(k.Root, to)))
	cmd := exec.Command("cp", "-a", "--reflink=auto", filepath.Join(k.Root, from), filepath.Join(k.Root, to))
	if out, err := cmd.CombinedOutput(); err != nil {
		k.t.Fatalf("copy the world: %v\n%s", err, out)
	}
}

// rest stops the stack and waits until nothing of the world runs.
func (k killed) rest() {
	k.t.Helper()
	k.forklift("db", "stop")
	if left, err := harness.WaitForNone(k.Root, patience); err != nil || len(left) > 0 {
		harness.End(k.Root, left)
		k.t.Fatalf("processes are left: %v %v", left, err)
	}
}

// begin puts the world back and brings it to where the verb starts.
func (k killed) begin(t *testing.T, running bool) killed {
	k.world = &world{World: k.World, t: t}
	k.mirror("copy", "w")
	if running {
		k.forklift("db", "start")
	}
	return k
}

// describe looks at all parts; it starts the stack and stops it again. The
// log-ins come last: they change the database.
func (k killed) describe() parts {
	k.t.Helper()
	var list struct {
		Checkpoints []struct{ Name string }
	}
	decode(k.t, k.forklift("list", "--json"), &list)
	p := parts{"code": k.files()}
	for _, c := range list.Checkpoints {
		p["names"] += c.Name + "\n"
	}
	anybody, service := k.start()
	p["database"] = k.dump()
	file, err := service.Download("files", "a/picture")
	must(k.t, err)
	p["files"] = fmt.Sprintf("%+v", file)
	for _, user := range [][2]string{{ada, adaWord}, {eve, eveWord}} {
		_, err := anybody.LogIn(user[0], user[1])
		if err == nil {
			p["users"] += user[0] + "\n"
		} else if !supaworld.IsRefused(err, 400) {
			k.t.Fatal(err)
		}
	}
	k.rest()
	return p
}

// steps runs the verb to its end and gives its steps as they are traced.
func (k killed) steps(argv []string) []string {
	k.t.Helper()
	r := k.Exec(k.t, deadline, []string{"FORKLIFT_FAILPOINT_TRACE=1"}, "forklift", argv...)
	if r.Code != 0 {
		k.t.Fatalf("forklift %v: %v", argv, r)
	}
	var steps []string
	for line := range strings.Lines(r.Stderr) {
		if strings.HasPrefix(line, "failpoint ") {
			steps = append(steps, strings.TrimSpace(line))
		}
	}
	return steps
}

// wanted says which of the steps, counted from one, are taken: all, or one on
// the way, the switch and the step behind it, and the last call of the CLI with
// the step behind it.
func wanted(steps []string) map[int]bool {
	take, call := map[int]bool{}, 0
	for n, step := range steps {
		if everything || n == len(steps)/3 {
			take[n+1] = true
		}
		if strings.Contains(step, "rename") && strings.Contains(step, "/current.json") {
			take[n+1], take[n+2] = true, true
		}
		if strings.Contains(step, ": run ") {
			call = n + 1
		}
	}
	if call > 0 {
		take[call], take[call+1] = true, true
	}
	return take
}

// TestKilledAtItsSteps kills Forklift while it captures and restores a stack:
// recover ends exactly before or exactly after, as it says, with code, database,
// users and files together.
func TestKilledAtItsSteps(t *testing.T) {
	t.Parallel()
	for name, s := range sweeps {
		if !s.always && !everything {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := prepare(t)
			before := k.describe()
			k = k.begin(t, s.running)
			steps := k.steps(s.argv)
			after := k.describe()
			if len(steps) == 0 || before.difference(after) == "" {
				t.Fatalf("%d steps change nothing", len(steps))
			}
			take, good := wanted(steps), 0
			for n := 1; n <= len(steps); n++ {
				if take[n] && t.Run(strconv.Itoa(n), func(t *testing.T) {
					t.Log(strings.ReplaceAll(steps[n-1], k.Root, ""))
					k.begin(t, s.running).round(n, s.argv, before, after)
				}) {
					good++
				}
			}
			k.mirror("copy", "w")
			t.Logf("%s: %d of %d kills ended well; it has %d steps", strings.Join(s.argv, " "), good, len(take), len(steps))
		})
	}
}

// round is one kill, at step n.
func (k killed) round(n int, argv []string, before, after parts) {
	t := k.t
	r := k.Exec(t, deadline, []string{"FORKLIFT_FAILPOINT_KILL=" + strconv.Itoa(n)}, "forklift", argv...)
	if !r.Killed {
		t.Logf("not killed: %v", r) // it took fewer steps this time
	}
	var status struct {
		Interrupted *struct{ Forward bool }
	}
	decode(t, k.forklift("status", "--json"), &status)
	if refused := k.run("run", "--", "true"); (refused.Code == 6) != (status.Interrupted != nil) {
		t.Errorf("status says interrupted: %v, and run: %v", status.Interrupted != nil, refused)
	}
	var outcome struct {
		Nothing   bool
		Direction string
	}
	decode(t, k.forklift("recover", "--json"), &outcome)
	got := k.describe()
	back, forward := got.difference(before), got.difference(after)
	switch {
	case outcome.Direction == "back" && back != "":
		t.Errorf("recovered back, but not as before: %s", back)
	case outcome.Direction == "forward" && forward != "":
		t.Errorf("recovered forward, but not as after: %s", forward)
	case back != "" && forward != "":
		t.Errorf("neither before (%s) nor after (%s)", back, forward)
	}
}
