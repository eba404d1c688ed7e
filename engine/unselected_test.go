package engine

import (
	"slices"
	"strings"
	"testing"
)

func TestUnselectedSources(t *testing.T) {
	for _, c := range []struct{ changed, sources, selected, want string }{
		{"src/a db/1 db/deep/2", "src db", "src", "db"},
		{"src/a db/1", "src db", ".", ""},
		{"src/a lib/x/1 top", ".", "src", "lib top"},
		{"lib/x/1 lib/y", "lib/x lib/y", "src", "lib/x lib/y"},
		{"lib lib/x lib/x/1", "lib/x", "lib/x", ""}, // the directory that holds a source
		{"srcs/1", "srcs", "src", "srcs"},
		{"d\xff/1", "d\xff", "src", `"d\xff"`},
		{"", "src", "src", ""},
	} {
		got := unselected(slices.Values(strings.Fields(c.changed)), strings.Fields(c.sources), strings.Fields(c.selected))
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("changed %q of %q, selected %q: %q, want %q", c.changed, c.sources, c.selected, text, c.want)
		}
	}
}
