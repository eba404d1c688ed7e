package psql

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Target is a session that items are run in.
type Target interface {
	// Exec runs one statement and passes over its rows.
	Exec(ctx context.Context, sql string) error
	// CopyIn runs COPY ... FROM STDIN with data in the statement's format.
	CopyIn(ctx context.Context, sql string, data io.Reader) error
	// Connect goes on in another session; "" keeps what the present one has.
	Connect(ctx context.Context, database, user string) error
	// Parameter is a setting that the server reports by itself.
	Parameter(name string) string
}

// Error is what went wrong at which place of a file.
type Error struct {
	File string
	Line int // counted from 1
	Err  error
}

// Error is "file:line: cause".
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// runner runs the items of one file.
type runner struct {
	target Target
	scan   *Scanner
	key    string // of \restrict; "" where commands are allowed
}

// errQuit is how \quit ends a file.
var errQuit = errors.New("quit")

// Run runs the SQL of r, which is called file in errors, and stops at the
// first error (*Error). A statement of more than limit bytes is one.
func Run(ctx context.Context, target Target, file string, r io.Reader, limit int) error {
	run := &runner{target: target, scan: NewScanner(r, limit)}
	for {
		item, err := run.scan.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &Error{File: file, Line: run.scan.Line(), Err: err}
		}
		err = run.item(ctx, item)
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil {
			return &Error{File: file, Line: lineOf(item, err), Err: err}
		}
	}
}

// unsafeEncodings have characters of which a byte looks like a backslash or a
// quote: text in them cannot be cut by bytes.
var unsafeEncodings = []string{"BIG5", "GB18030", "GBK", "JOHAB", "SHIFT_JIS_2004", "SJIS", "UHC"}

// item runs one item and sees what it changed for the next ones.
func (r *runner) item(ctx context.Context, item Item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var err error
	switch item.Kind {
	case SQL:
		err = r.target.Exec(ctx, item.Text)
	case Copy:
		err = r.target.CopyIn(ctx, item.Text, item.Data)
	case Meta:
		err = r.meta(ctx, item.Text)
	}
	if err != nil {
		return err
	}
	r.scan.StandardStrings = r.target.Parameter("standard_conforming_strings") != "off"
	if name := r.target.Parameter("client_encoding"); slices.Contains(unsafeEncodings, name) {
		return fmt.Errorf("files in the encoding %s cannot be read; write the dump with --encoding=UTF8", name)
	}
	return nil
}

// lineOf finds the line of the file that an error of the server is about: it
// tells a character of the statement, or a line of the COPY data.
func lineOf(item Item, err error) int {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return item.Line
	}
	if item.Kind == Copy {
		_, rest, found := strings.Cut(pg.Where, ", line ")
		var n int
		if _, err := fmt.Sscanf(rest, "%d", &n); found && err == nil && n > 0 {
			return item.DataLine + n - 1
		}
	}
	line, at := item.Line, int32(1)
	for _, c := range item.Text {
		if at >= pg.Position {
			break
		}
		if c == '\n' {
			line++
		}
		at++
	}
	return line
}

func isBufferFull(err error) bool { return errors.Is(err, bufio.ErrBufferFull) }

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
