package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forklift/commands"
)

// openPTY makes a terminal: what is written to user is typed, what is read
// from it was shown.
func openPTY(t *testing.T, width, height uint16) (user, tty *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	size := &unix.Winsize{Row: height, Col: width}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
	return user, tty
}

func TestLineEditor(t *testing.T) {
	for _, size := range [][2]uint16{{80, 24}, {0, 0}} { // some terminals have no size
		user, tty := openPTY(t, size[0], size[1])
		shown := make(chan byte, 1<<16)
		go func() {
			buf := make([]byte, 1)
			for {
				if _, err := user.Read(buf); err != nil {
					return
				}
				shown <- buf[0]
			}
		}()
		editor := newLineEditor(tty, tty)
		for _, c := range []struct {
			typed, line string
			err         error
		}{
			{"select 1;\r", "select 1;", nil},
			{"given up\x03", "", commands.ErrCleared},
			{"sel\x7f\x7flect\r", "slect", nil},
			{"\x1b[A\r", "slect", nil}, // the line before
			{"\x04", "", io.EOF},
		} {
			type answer struct {
				line string
				err  error
			}
			done := make(chan answer, 1)
			go func() {
				line, err := editor.ReadLine("app=# ")
				done <- answer{line, err}
			}()
			waitFor(t, shown, "app=# ")
			if _, err := user.WriteString(c.typed); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-done:
				if got.line != c.line || !errors.Is(got.err, c.err) {
					t.Errorf("%q: %q, %v; want %q, %v", c.typed, got.line, got.err, c.line, c.err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%q: no answer", c.typed)
			}
		}
	}
}

// waitFor waits until the terminal shows text.
func waitFor(t *testing.T, shown <-chan byte, text string) {
	t.Helper()
	var seen strings.Builder
	deadline := time.After(10 * time.Second)
	for !strings.HasSuffix(seen.String(), text) {
		select {
		case b := <-shown:
			seen.WriteByte(b)
		case <-deadline:
			t.Fatalf("the terminal does not show %q but %q", text, seen.String())
		}
	}
}

func TestWhatATerminalIs(t *testing.T) {
	_, tty := openPTY(t, 123, 24)
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name           string
		out            *os.File
		environ        []string
		terminal, show bool
	}{
		{"terminal", tty, []string{"TERM=xterm"}, true, true},
		{"NO_COLOR", tty, []string{"TERM=xterm", "NO_COLOR=1"}, true, false},
		{"empty NO_COLOR", tty, []string{"NO_COLOR="}, true, true},
		{"dumb", tty, []string{"TERM=dumb"}, true, false},
		{"file", file, []string{"TERM=xterm"}, false, false},
	} {
		got := newTerminal(tty, c.out, c.out, c.environ)
		if !got.in || got.out != c.terminal || got.err != c.terminal || got.color != c.show || got.errColor != c.show {
			t.Errorf("%s: %+v", c.name, got)
		}
		if width := got.width(); c.terminal && width != 123 || !c.terminal && width != plainWidth {
			t.Errorf("%s: width %d", c.name, width)
		}
	}
}
