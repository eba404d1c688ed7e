package config

import (
	"strings"
	"testing"

	"forklift/storage/fault"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "4096": 4096, "20GB": 20e9, "1.5 TiB": 3 << 39, "7k": 7000, "7KiB": 7168, "500MB": 5e8, "12B": 12} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "-1", "5 bananas", "GB", "1iB", "99999999999TB", "1e3"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestLimits(t *testing.T) {
	head := "format = 1\nstore = \"/s\"\nproject = \"p\"\n"
	m, err := ParseMachine("forklift.toml", []byte(head+"[limits]\nstore_size = \"20GB\"\nfree_space = \"5GB\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if size, free := m.Limits.Bytes(); size != 20e9 || free != 5e9 {
		t.Errorf("%d, %d", size, free)
	}
	again, err := ParseMachine("forklift.toml", m.Encode())
	if err != nil || *again != *m {
		t.Errorf("encoded: %v %v", again, err)
	}
	for text, want := range map[string]string{
		"[limits]\nsize = \"20GB\"\n":        `forklift.toml:4:2: unknown key "size" in limits`,
		"[limits]\nstore_size = 20\n":        `store_size must be text such as "20GB"`,
		"[limits]\nfree_space = \"a lot\"\n": `free_space: "a lot" is not a size`,
		"limits = 3\n":                       "limits must be a table",
	} {
		if _, err := ParseMachine("forklift.toml", []byte(head+text)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
