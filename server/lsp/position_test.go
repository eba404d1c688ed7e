package lsp

import (
	"testing"

	"go.lsp.dev/protocol"
)

func TestPositionsCountUTF16(t *testing.T) {
	text := "a𝄞b\nß\n"
	for _, c := range []struct {
		line, character uint32
		want            int
		back            bool // the byte is at that position, not only at one like it
	}{{0, 0, 0, true}, {0, 1, 1, true}, {0, 3, 5, true}, {0, 4, 6, true}, {0, 99, 6, false}, {1, 0, 7, true}, {1, 1, 9, true}, {2, 0, 10, true}, {9, 0, 10, false}} {
		p := protocol.Position{Line: c.line, Character: c.character}
		if got := Offset(text, p); got != c.want {
			t.Errorf("%d:%d is %d, want %d", c.line, c.character, got, c.want)
		}
		if got := PositionOf(text, c.want); c.back != (got == p) {
			t.Errorf("byte %d is at %v, %v was asked", c.want, got, p)
		}
	}
	if got := PositionOf(text, 99); got != (protocol.Position{Line: 2}) {
		t.Errorf("behind the end: %v", got)
	}
}
