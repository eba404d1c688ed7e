package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestError(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "/a", Err: fs.ErrNotExist}
	for want, e := range map[string]*Error{
		"open store /b: open /a: file does not exist": {Op: "open store", Path: "/b", Err: cause},
		"open store: open /a: file does not exist":    {Op: "open store", Path: "/a", Err: cause}, // said by the cause
		"open /a: file does not exist":                {Err: cause},
		"capture x: busy":                             {Op: "capture", Path: "x", Kind: Busy},
		"x: not-found":                                {Path: "x", Kind: NotFound},
		"failed":                                      {},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
	if err := fmt.Errorf("more: %w", &Error{Err: cause}); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestWhatAnErrorCarries(t *testing.T) {
	plain := errors.New("plain")
	inner := &Error{Kind: NoSpace, Hint: "inner", Items: []string{"i"}, Err: plain}
	outer := fmt.Errorf("outer: %w", &Error{Op: "capture", Err: fmt.Errorf("middle: %w", inner)})
	if KindOf(outer) != NoSpace || HintOf(outer) != "inner" || len(ItemsOf(outer)) != 1 {
		t.Errorf("got %v, %q, %v", KindOf(outer), HintOf(outer), ItemsOf(outer))
	}
	outer = &Error{Kind: Busy, Hint: "outer", Items: []string{"a", "b"}, Err: outer}
	if KindOf(outer) != Busy || HintOf(outer) != "outer" || len(ItemsOf(outer)) != 2 {
		t.Errorf("got %v, %q, %v", KindOf(outer), HintOf(outer), ItemsOf(outer))
	}
	for _, none := range []error{nil, plain, &Error{}} {
		if KindOf(none) != Failed || HintOf(none) != "" || ItemsOf(none) != nil {
			t.Errorf("%v has %v, %q, %v", none, KindOf(none), HintOf(none), ItemsOf(none))
		}
	}
	both := errors.Join(plain, &Error{Kind: Corrupt})
	if KindOf(both) != Corrupt {
		t.Errorf("joined errors have kind %v", KindOf(both))
	}
}

// TestKinds pins the table that scripts and editors rely on.
func TestKinds(t *testing.T) {
	want := []string{"failed 1 -32000", "usage 2 -32602", "busy 3 -32003", "not-found 4 -32004", "untrusted 5 -32005",
		"interrupted 6 -32006", "corrupt 7 -32007", "no-space 8 -32008", "unsupported 9 -32009", "unsaved 10 -32010",
		"start-hook 11 -32011", "canceled 130 -32800"}
	if len(want) != len(kinds) {
		t.Fatalf("%d kinds", len(kinds))
	}
	for i, w := range want {
		k := Kind(i)
		if got := fmt.Sprint(k, " ", k.ExitCode(), " ", k.RPCCode()); got != w {
			t.Errorf("got %q, want %q", got, w)
		}
	}
}

func TestWrap(t *testing.T) {
	if Wrap("flush", "/a", nil) != nil {
		t.Error("nothing was wrapped")
	}
	err := Wrap("flush", "/a", &Error{Kind: NoSpace, Hint: "make room", Err: errors.New("disk full")})
	if err.Error() != "flush /a: disk full" || KindOf(err) != NoSpace || HintOf(err) != "make room" {
		t.Errorf("got %q, %v, %q", err, KindOf(err), HintOf(err))
	}
}
