package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"forklift/commands"
	"forklift/storage/fault"
)

// print prints a result: as JSON, or as the verb's renderer has it.
func (a *app) print(v *commands.Verb, result any) error {
	if a.json {
		return writeJSON(a.out, result)
	}
	p := &printer{color: a.term.color, now: a.clock.Now(), args: a.args}
	if err := renderers[v.Name](p, result); err != nil {
		return err
	}
	for _, w := range p.warnings {
		a.say("warning", w)
	}
	_, err := io.WriteString(a.out, p.text.String())
	return err
}

// printError prints an error with its items and its hint.
func (a *app) printError(err error) {
	failure := commands.FailureOf(err)
	if a.json {
		// Nowhere is left to report that stdout cannot be written.
		_ = writeJSON(a.out, map[string]any{"error": failure})
		return
	}
	if failure.Kind == fault.Canceled.String() && failure.Hint == "" && len(failure.Items) == 0 {
		a.say("error", "interrupted")
		return
	}
	a.say("error", failure.Message)
	items := failure.Items
	if len(items) == 1 && strings.HasSuffix(failure.Message, items[0]) {
		items = nil // the message has said it
	}
	for _, item := range items {
		fmt.Fprintf(a.err, "  %s\n", plain(item))
	}
	if failure.Hint != "" {
		fmt.Fprintf(a.err, "%s %s\n", paint(a.term.errColor, bold, "hint:"), lines(failure.Hint))
	}
}

// say prints a line to stderr: "forklift: error: ...".
func (a *app) say(what, message string) {
	color := red
	if what == "warning" {
		color = yellow
	}
	fmt.Fprintf(a.err, "forklift: %s %s\n", paint(a.term.errColor, color, what+":"), lines(message))
}

// lines is a message of several lines, indented, without control characters.
func lines(message string) string {
	parts := strings.Split(message, "\n")
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	return strings.Join(parts, "\n  ")
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
