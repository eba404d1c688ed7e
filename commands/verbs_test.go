package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forklift/commands"
	"forklift/commands/internal/standin"
	"forklift/storage/clock"
	"forklift/storage/fault"
)

// newEnv is an Env over an engine that only pretends.
func newEnv(t *testing.T, e *standin.Engine) commands.Env {
	t.Helper()
	return commands.Env{Engine: e, Postgres: e, Clock: clock.NewFake(standin.Now), Dir: t.TempDir()}
}

func TestVerbsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range commands.Verbs {
		if seen[v.Name] {
			t.Errorf("%s is there twice", v.Name)
		}
		seen[v.Name] = true
		if v.Short == "" || strings.HasSuffix(v.Short, ".") || len(v.Examples) == 0 || v.Group == "" {
			t.Errorf("%s: needs a group, a short text without a full stop, and an example", v.Name)
		}
		for _, e := range v.Examples {
			if !strings.Contains(e.Line, "forklift "+v.Name) && v.Name != "restore" {
				t.Errorf("%s: the example %q is about something else", v.Name, e.Line)
			}
		}
		if commands.Lookup(" "+v.Name+" ") != v {
			t.Errorf("Lookup(%q) finds another verb", v.Name)
		}
	}
	if commands.Lookup("no such") != nil {
		t.Error("Lookup finds a verb that is not there")
	}
}

func TestExitCodesAreThoseOfTheKinds(t *testing.T) {
	want := map[int]bool{0: true}
	for kind := fault.Failed; kind <= fault.Canceled; kind++ {
		want[kind.ExitCode()] = true
	}
	got := map[int]bool{}
	for _, e := range commands.ExitCodes {
		got[e.Code] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("help lists other exit codes (-want +got):\n%s", diff)
	}
}

func TestDecode(t *testing.T) {
	v := commands.Lookup("capture")
	got, err := v.Decode([]byte(`{"name": "a", "note": "n", "wait": "1m30s", "disconnect": true}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &commands.CaptureRequest{Name: "a", Note: "n"}
	want.Wait, want.Disconnect = commands.Duration(90e9), true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, empty := range []string{"", " ", "null", "[]", "{}"} {
		got, err := commands.Lookup("log").Decode([]byte(empty))
		if err != nil {
			t.Errorf("Decode(%q): %v", empty, err)
		} else if n := got.(*commands.LogRequest).Limit; n != 30 {
			t.Errorf("Decode(%q): limit %d, want the default 30", empty, n)
		}
	}
	for _, bad := range []string{
		`{"nme": "a"}`, `{"name": 1}`, `{"name": "a"} {}`, `"a"`, `[1]`, `{"wait": "-1s"}`, `{"wait": "soon"}`, `{`,
		strings.Repeat(" ", 10) + `{"note": "` + strings.Repeat("x", commands.MaxRequestBytes) + `"}`,
	} {
		if _, err := v.Decode([]byte(bad)); fault.KindOf(err) != fault.Usage {
			t.Errorf("Decode(%.40q): %v, want kind usage", bad, err)
		}
	}
}

func TestRequestsAreChecked(t *testing.T) {
	e := &standin.Engine{}
	for name, raw := range map[string]string{
		"restore": `{}`, "seed create": `{}`, "env": `{"format": "csv"}`,
	} {
		v := commands.Lookup(name)
		request, err := v.Decode([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Run(context.Background(), newEnv(t, e), request); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s %s: %v, want kind usage", name, raw, err)
		}
	}
	if calls := e.Calls(); calls != nil {
		t.Errorf("the engine was asked: %v", calls)
	}
}

func TestEveryResultIsOneJSONObject(t *testing.T) {
	// Inputs that these verbs need although help does not say so of the field.
	needed := map[string]string{"seed refresh": "command", "note": "text", "protect": "refs", "unprotect": "refs"}
	for _, v := range commands.Verbs {
		if v.Name == "run" || v.Name == "db shell" {
			continue // they start programs; tested by themselves
		}
		request := v.NewRequest()
		for _, f := range v.Fields {
			if f.Required || f.Name == needed[v.Name] {
				if err := f.Set(request, "/bin/sh"); err != nil {
					t.Fatal(err)
				}
			}
		}
		result, err := v.Run(context.Background(), newEnv(t, &standin.Engine{}), request)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		raw, err := json.Marshal(result)
		if err != nil || raw[0] != '{' {
			t.Errorf("%s: %.40s, %v", v.Name, raw, err)
		}
		if got := fmt.Sprintf("%T", result); got != "*"+v.ResultType().String() {
			t.Errorf("%s: result is a %s", v.Name, got)
		}
	}
}

func TestOptionsReachTheEngine(t *testing.T) {
	for _, c := range []struct{ verb, request, want string }{
		{"capture", `{"name":"a","wait":"2s","disconnect":true}`, "capture {WaitOptions:{Wait:2s Disconnect:true UnsavedDisk:false NoHooks:false} Name:a Note:}"},
		{"restore", `{"ref":"o:a","verify":true,"discard_current":true}`, "restore {WaitOptions:{Wait:0s Disconnect:false UnsavedDisk:false NoHooks:false} Ref:o:a Verify:true DiscardCurrent:true Part: Paths:[] Plan:}"},
		{"undo", `{"wait":"5"}`, "undo {Wait:5s Disconnect:false UnsavedDisk:false NoHooks:false}"},
		{"redo", `{"include_unsaved":"disk"}`, "redo {Wait:0s Disconnect:false UnsavedDisk:true NoHooks:false}"},
		{"recover", `{"back":true}`, "recover {WaitOptions:{Wait:0s Disconnect:false UnsavedDisk:false NoHooks:false} Back:true}"},
		{"list", `{"all":true,"project":true}`, "list {All:true Project:true}"},
		{"log", `{"limit":0}`, "log 0"},
		{"db start", `{}`, "start true"},
		{"db stop", `{"disconnect":true}`, "stop {Wait:0s Disconnect:true UnsavedDisk:false NoHooks:false}"},
		{"seed create", `{"name":"s","sql":["/a.sql"],"database":"d"}`, "seed create {Name:s Kind: SQL:[/a.sql] Database:d Dump: Source:{URL: Method:auto Preload:[]}}"},
		{"seed remove", `{"name":"s","yes":true}`, "seed remove s true"},
	} {
		e := &standin.Engine{}
		v := commands.Lookup(c.verb)
		request, err := v.Decode([]byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Run(context.Background(), newEnv(t, e), request); err != nil {
			t.Errorf("%s: %v", c.verb, err)
		}
		if calls := e.Calls(); calls[len(calls)-1] != c.want {
			t.Errorf("%s: %v, want last %s", c.verb, calls, c.want)
		}
	}
}

func TestRelativeFilesStartWhereTheVerbWasGiven(t *testing.T) {
	e := &standin.Engine{}
	env := newEnv(t, e)
	if _, err := commands.SeedCreate(context.Background(), env, commands.SeedCreateRequest{Name: "s", SQL: []string{"../a.sql"}}); err != nil {
		t.Fatal(err)
	}
	parent := env.Dir[:strings.LastIndexByte(env.Dir, '/')]
	if want := "SQL:[" + parent + "/a.sql]"; !strings.Contains(e.Calls()[0], want) {
		t.Errorf("%v, want %s", e.Calls(), want)
	}
}

func TestErrorsGetTheirKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind fault.Kind
	}{
		{context.Canceled, fault.Canceled},
		{fmt.Errorf("write pack: %w", syscall.ENOSPC), fault.NoSpace},
		{&fault.Error{Op: "x", Kind: fault.Busy, Err: syscall.ENOSPC, Hint: "wait"}, fault.Busy},
		{errors.New("other"), fault.Failed},
	} {
		env := newEnv(t, &standin.Engine{Err: c.err})
		v := commands.Lookup("capture")
		_, err := v.Run(context.Background(), env, v.NewRequest())
		f := commands.FailureOf(err)
		if f.Kind != c.kind.String() || f.Message == "" {
			t.Errorf("%v: %+v, want kind %v", c.err, f, c.kind)
		}
		if code := v.ExitCode(err); code != c.kind.ExitCode() {
			t.Errorf("%v: exit code %d", c.err, code)
		}
	}
}

func TestFailureHasAllParts(t *testing.T) {
	err := fmt.Errorf("outer: %w", &fault.Error{
		Op: "capture", Path: "src/x", Kind: fault.Busy, Err: errors.New("2 commands run"), Hint: "Wait.", Items: []string{"a", "b"},
	})
	want := commands.Failure{
		Kind: "busy", Op: "capture", Path: "src/x", Message: "outer: capture src/x: 2 commands run", Hint: "Wait.", Items: []string{"a", "b"},
	}
	if diff := cmp.Diff(want, commands.FailureOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
