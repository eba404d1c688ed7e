package storage

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"forklift/storage/vfs"
)

var update = flag.Bool("update", false, "write the golden files again")

// operations makes the calls of some work comparable: names that are hashes
// or random are replaced, and writes that follow each other are one.
func operations(lines []string) string {
	text := strings.Join(lines, "\n") + "\n"
	for _, r := range [][2]string{
		{`packs/[0-9a-f]{2}/[0-9a-f]{64}`, "packs/ab/<id>"},
		{`packs/[0-9a-f]{2}\b`, "packs/ab"},
		{`index/[0-9a-f]{64}`, "index/<id>"},
		{`tmp/[0-9a-f]{16}`, "tmp/<writer>"},
		{`(?m)^(write \S+) .*$`, "$1"},
		{`/lab/`, ""},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	var kept []string
	for line := range strings.Lines(text) {
		if len(kept) == 0 || kept[len(kept)-1] != line || !strings.HasPrefix(line, "write ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// The calls that change something, in order: a review of what is durable
// when is a review of this text. Two captures: the first in a new store, the
// second of a changed file.
func TestOperations(t *testing.T) {
	m := vfs.NewMem()
	l := &lab{t: t, fs: m, dir: "/lab"}
	l.ok(m.Mkdir("/lab", 0o700))
	l.write("tree/f", make([]byte, 100_000))
	var got strings.Builder
	flushes := 0
	for _, name := range []string{"first", "second"} {
		var lines []string
		logged := vfs.Log(m, func(line string) { lines = append(lines, line) })
		l.ok(publish(logged, map[string]PairID{"first": firstPair, "second": secondPair}[name], name))
		text := operations(lines)
		got.WriteString("# " + name + " capture\n" + text)
		flushes = strings.Count(text, "\nsync ") + strings.Count(text, "\nsyncdir ")
		l.poke("tree/f", 50_000, []byte("changed"))
	}
	const golden = "testdata/publish.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != got.String() {
		t.Errorf("other calls than %s has (run with -update if that is meant):\n%s", golden, got.String())
	}
	// Two each for pack, index, pair and name, and one for a new directory.
	if flushes != 9 {
		t.Errorf("%d flushes in a capture", flushes)
	}
}
