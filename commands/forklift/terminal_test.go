package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"forklift/commands"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		input   string
		byEmpty bool
		want    bool
	}{
		{"y\n", false, true}, {"YES\n", false, true}, {"n\n", true, false}, {"\n", true, true}, {"\n", false, false},
		{"what\ny\n", false, true}, {"", true, false}, {"y", false, true},
	} {
		w := newWorld(t)
		w.answers(c.input)
		got, err := w.confirm(context.Background(), commands.Question{Text: "Text", Prompt: "Sure?", Yes: c.byEmpty})
		if err != nil || got != c.want {
			t.Errorf("%q: %v, %v; want %v", c.input, got, err, c.want)
		}
		if !strings.HasPrefix(w.stderr.String(), "Text\n\nSure? [") || w.out.String() != "" {
			t.Errorf("%q: asked %q", c.input, &w.stderr)
		}
	}
	w := newWorld(t)
	r, _ := io.Pipe()
	w.in = r
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.confirm(ctx, commands.Question{Prompt: "Sure?"}); fault.KindOf(err) != fault.Canceled {
		t.Errorf("interrupted: %v", err)
	}
}

func TestQuestionsAreForTerminals(t *testing.T) {
	w := newWorld(t)
	w.answers("y\n")
	if code := w.main([]string{"teardown"}); code != 0 || !strings.Contains(w.stderr.String(), "Remove it? [y/N]") {
		t.Errorf("exit code %d, stderr %q", code, &w.stderr)
	}
	if calls := w.engine.Calls(); calls[len(calls)-1] != "teardown true" {
		t.Errorf("%v", calls)
	}
	w = newWorld(t)
	w.answers("y\n")
	w.main([]string{"teardown", "--json"})
	if calls := w.engine.Calls(); calls[len(calls)-1] != "teardown false" || w.stderr.String() != "" {
		t.Errorf("--json: %v, stderr %q", calls, &w.stderr)
	}
}

func TestMeter(t *testing.T) {
	var out bytes.Buffer
	m := &meter{out: &out, width: func() int { return 60 }, verb: "capture", quit: make(chan struct{})}
	for range 20 {
		m.look()
	}
	if out.Len() > 0 {
		t.Errorf("it shows itself without work: %q", &out)
	}
	m.Report(progress.Event{Phase: "scan database", DoneBytes: 1 << 20, TotalBytes: 4 << 20, DoneFiles: 1234})
	for range meterDelay - 1 {
		m.look()
	}
	if out.Len() > 0 {
		t.Errorf("it shows itself too early: %q", &out)
	}
	m.look()
	want := "\r\x1b[Kcapture: scan database  1.0 MiB of 4.0 MiB  1,234 files  [="
	if out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	out.Reset()
	m.look()
	if out.Len() > 0 {
		t.Errorf("it writes the same line again: %q", &out)
	}
	m.Report(progress.Event{})
	if out.String() != "\r\x1b[K" {
		t.Errorf("it is not taken away: %q", &out)
	}
	out.Reset()
	m.look()
	m.stop()
	m.stop()
	if out.Len() > 0 {
		t.Errorf("it goes on: %q", &out)
	}
	var none *meter
	none.stop()
	if newMeter(&out, false, nil, "x") != nil {
		t.Error("a meter without a terminal")
	}
}

func TestMeterLine(t *testing.T) {
	for _, c := range []struct {
		event progress.Event
		want  string
	}{
		{progress.Event{Phase: "stop"}, "v: stop"},
		{progress.Event{Phase: "a", DoneBytes: 5}, "v: a  5 B"},
		{progress.Event{Phase: "a", DoneFiles: 5, TotalFiles: 10}, "v: a  5 of 10 files  [==========          ]  50%"},
		{progress.Event{Phase: "a", DoneBytes: 50, TotalBytes: 10}, "v: a  50 B of 10 B  [====================] 100%"},
		{progress.Event{Phase: "a\x1bb"}, `v: a\x1bb`},
	} {
		if got := meterLine("v", c.event, 100); got != c.want {
			t.Errorf("%+v: %q, want %q", c.event, got, c.want)
		}
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	s := w.signals
	ctx, stop := s.context(context.Background(), w.stopping)
	defer stop()
	away := make(chan os.Signal, 1)
	release := s.divert(away)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case sig := <-away:
		if sig != syscall.SIGTERM || ctx.Err() != nil {
			t.Errorf("%v, %v", sig, ctx.Err())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the signal was not diverted")
	}
	release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the signal did not cancel")
	}
	// The same wish once more, as timeout and npm send it: it does not end
	// this process at once.
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(w.stderr.String(), "forklift: stopping") {
		t.Errorf("said %q", &w.stderr)
	}
}
