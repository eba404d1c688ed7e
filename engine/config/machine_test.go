package config

import (
	"strings"
	"testing"

	"forklift/storage/fault"

	"github.com/google/go-cmp/cmp"
)

func TestMachineRoundTrip(t *testing.T) {
	for _, m := range []Machine{
		{Store: "/data/forklift", Project: "p1"},
		{Store: "/a b\"c", Project: "p", Seed: "base", Postgres: "/usr/lib/postgresql/17/bin"},
	} {
		got, err := ParseMachine(MachineName, m.Encode())
		if err != nil {
			t.Fatal(err)
		}
		m.Format = 1
		if d := cmp.Diff(&m, got); d != "" {
			t.Error(d)
		}
	}
}

func TestMachineProblems(t *testing.T) {
	cases := map[string]string{
		"format = 1\nstore = \"/s\"\nproject = \"p\"\n\n  sed = \"x\"\n": `m:5:3: unknown key "sed" (did you mean "seed"?)`,
		"format = 1\nstore = \"/s\"\nproject = \"p\"\n[limits]\nx = 1\n": `m:4:2: unknown key "x" in limits`,
		"format = 1\nstore = 3\nproject = \"p\"\n":                       `m:2:1: store must be of type string`,
		"format = \"1\"\nstore = 1979-05-27\n[project]\nx = 1\n":         `m:1:1: format must be of type int; m:2:1: store must be of type string; m:3:2: project must be of type string`,
		"format = 1.5\n": `format must be of type int`,
		"format = 1\nstore = \"/s\nproject = \"p\"\n":                     `m:2:`,
		"format = 1\nstore = \"s\"\nproject = \"p\"\n":                    `store must be an absolute path`,
		"format = 1\nstore = \"/s\"\nproject = \"p\"\npostgres = \"b\"\n": `postgres must be an absolute path`,
		"format = 1\n": `the key "store" is missing`,
		"":             `format must be 1`,
	}
	for text, want := range cases {
		_, err := ParseMachine("m", []byte(text))
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	if _, err := ParseMachine("m", []byte("format = 2\nnew = 1\n")); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("newer: %v", err)
	}
}

func FuzzParseMachine(f *testing.F) {
	f.Add(Machine{Store: "/s", Project: "p"}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMachine("m", data)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v, %v", m, err)
		}
	})
}
