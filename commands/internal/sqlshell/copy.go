package sqlshell

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
)

// copyStream finds the statements that make the connection carry data: the
// last of these words in a statement that begins with COPY.
var copyStream = regexp.MustCompile(`(?is)\b(?:from\s+(stdin)|to\s+(stdout))\b`)

// copyKind tells "stdin" or "stdout" for a COPY over the connection, else "".
func copyKind(statement string) string {
	for {
		statement = strings.TrimSpace(statement)
		if rest, ok := strings.CutPrefix(statement, "--"); ok {
			_, statement, _ = strings.Cut(rest, "\n")
		} else if rest, ok := strings.CutPrefix(statement, "/*"); ok {
			_, statement, _ = strings.Cut(rest, "*/")
		} else {
			break
		}
	}
	if len(statement) < 4 || !strings.EqualFold(statement[:4], "copy") {
		return ""
	}
	all := copyStream.FindAllStringSubmatch(statement, -1)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return strings.ToLower(last[1] + last[2])
}

// copyData runs a COPY whose data is read from the input, up to a line with
// \. alone, or written to the output.
func (s *Shell) copyData(ctx context.Context, statement, kind string) (tag string, err error) {
	if kind == "stdout" {
		t, err := s.conn.CopyTo(ctx, s.Out, statement)
		return t.String(), err
	}
	data := &copyReader{next: func() (string, error) { return s.ReadLine(">> ") }}
	t, err := s.conn.CopyFrom(ctx, data, statement)
	// After an error what is left of the data must not be taken for SQL.
	for !data.ended {
		if _, readErr := io.Copy(io.Discard, data); readErr != nil {
			return "", readErr
		}
	}
	return t.String(), err
}

// copyReader gives lines up to the end mark.
type copyReader struct {
	next  func() (string, error)
	line  string // what of it was not read yet, with its end
	ended bool
}

// Read gives the data of the next lines.
func (r *copyReader) Read(p []byte) (int, error) {
	if r.line == "" && !r.ended {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF) || (err == nil && line == `\.`):
			r.ended = true
		case err != nil:
			r.ended = true
			return 0, err
		default:
			r.line = line + "\n"
		}
	}
	if r.ended {
		return 0, io.EOF
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}
