package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"forklift/commands"
	"forklift/storage/fault"
)

// terminal is what is known of the terminals that the program is connected to.
type terminal struct {
	in, out, err bool // which streams are terminals
	color        bool // stdout shows colours
	errColor     bool // stderr does
	width        func() int
	foreground   func() bool
}

// plainWidth is the width where there is no terminal to ask.
const plainWidth = 100

func newTerminal(in, out, stderr *os.File, environ []string) terminal {
	t := terminal{in: isTerminal(in), out: isTerminal(out), err: isTerminal(stderr)}
	plain := false
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		plain = plain || (name == "NO_COLOR" && value != "") || (name == "TERM" && value == "dumb")
	}
	t.color, t.errColor = t.out && !plain, t.err && !plain
	t.width = func() int {
		for _, f := range []*os.File{stderr, out} {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
		return plainWidth
	}
	t.foreground = func() bool {
		for _, f := range []*os.File{in, out, stderr} {
			if group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
				return true
			}
		}
		return false
	}
	return t
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// confirm asks on the terminal. An interrupt while it waits is an answer too.
func (a *app) confirm(ctx context.Context, q commands.Question) (bool, error) {
	choice := map[bool]string{true: "[Y/n]", false: "[y/N]"}[q.Yes]
	if q.Text != "" {
		fmt.Fprintln(a.err, strings.TrimRight(q.Text, "\n")+"\n")
	}
	answers := make(chan string, 1)
	lines := bufio.NewReader(a.in)
	for {
		fmt.Fprintf(a.err, "%s %s ", q.Prompt, choice)
		go func() {
			line, err := lines.ReadString('\n')
			if err != nil && line == "" {
				line = "no"
			}
			answers <- strings.ToLower(strings.TrimSpace(line))
		}()
		select {
		case <-ctx.Done():
			fmt.Fprintln(a.err)
			return false, &fault.Error{Op: "ask", Kind: fault.Canceled, Err: ctx.Err()}
		case answer := <-answers:
			switch answer {
			case "":
				return q.Yes, nil
			case "y", "yes":
				return true, nil
			case "n", "no":
				return false, nil
			}
		}
	}
}

// lineEditor reads lines from a terminal with editing and a history.
type lineEditor struct {
	in    *os.File
	out   io.Writer
	keys  *keyWatch
	lines *term.Terminal
}

// keyWatch notices Ctrl-C, which the line editor reports as an end of input.
type keyWatch struct {
	io.Reader
	interrupt bool
}

func (k *keyWatch) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.interrupt = strings.IndexByte(string(p[:n]), 3) >= 0
	return n, err
}

func newLineEditor(in io.Reader, out io.Writer) commands.LineReader {
	e := &lineEditor{in: in.(*os.File), out: out, keys: &keyWatch{Reader: in}}
	e.lines = e.fresh()
	return e
}

func (e *lineEditor) fresh() *term.Terminal {
	return term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, e.out}, "")
}

// ReadLine switches the terminal to raw mode while the user types.
func (e *lineEditor) ReadLine(prompt string) (string, error) {
	fd := int(e.in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, state)
	if w, h, err := term.GetSize(fd); err == nil && w > 0 && h > 0 {
		// A size that the editor refuses only wraps long lines badly.
		_ = e.lines.SetSize(w, h)
	}
	e.lines.SetPrompt(prompt)
	line, err := e.lines.ReadLine()
	switch {
	case err == io.EOF && e.keys.interrupt:
		fmt.Fprint(e.out, "^C\r\n")
		history := e.lines.History
		e.lines = e.fresh() // the given up line is still in the old one
		e.lines.History = history
		return "", commands.ErrCleared
	case err == io.EOF:
		fmt.Fprint(e.out, "\r\n")
	}
	return line, err
}
