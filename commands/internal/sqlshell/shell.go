package sqlshell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
)

// MaxStatementBytes is the longest statement that is collected: what does not
// fit is an input without semicolons.
const MaxStatementBytes = 64 << 20

// MaxRows is how many rows of a result are printed: all of them are held in
// memory to align them.
const MaxRows = 100_000

// cancelWithin is how long a cancelled statement has to end before the
// connection is given up.
const cancelWithin = 5 * time.Second

// Shell is a prompt on one connection. All fields are required, but for
// Cleared and Interrupt.
type Shell struct {
	Out, Err io.Writer
	// ReadLine shows the prompt and reads a line; io.EOF ends the input.
	ReadLine func(prompt string) (string, error)
	// Cleared is the error of ReadLine for a line that the user gave up.
	Cleared error
	// Interactive goes on after an error.
	Interactive bool
	// Interrupt lets the user stop a statement: it returns a context for
	// one statement and a function that ends it.
	Interrupt func(context.Context) (context.Context, func())

	conn     *pgconn.PgConn
	database string
	failed   bool
}

// errQuit ends the loop.
var errQuit = errors.New("quit")

// Connect opens the connection; Close must be called.
func (s *Shell) Connect(ctx context.Context, url string) error {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return err
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		s.report((*pgconn.PgError)(n), "")
	}
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelWithin}
	}
	config.RuntimeParams["application_name"] = "forklift db shell"
	s.database = config.Database
	s.conn, err = pgconn.ConnectConfig(ctx, config)
	return err
}

// Close ends the connection.
func (s *Shell) Close(ctx context.Context) error { return s.conn.Close(ctx) }

// Run reads and executes until the input ends. failed says that a statement
// failed; an error means that the input or the connection did.
func (s *Shell) Run(ctx context.Context) (failed bool, err error) {
	var split Splitter
	for {
		line, err := s.ReadLine(s.prompt(split.Pending()))
		switch {
		case s.Cleared != nil && errors.Is(err, s.Cleared):
			split.Reset()
			continue
		case errors.Is(err, io.EOF):
			if rest := split.Rest(); rest != "" && !s.Interactive {
				err = s.Execute(ctx, rest)
			} else {
				err = nil
			}
			return s.failed, quit(err)
		case err != nil:
			return s.failed, err
		}
		if err := s.line(ctx, &split, line); err != nil {
			return s.failed, quit(err)
		}
	}
}

func quit(err error) error {
	if errors.Is(err, errQuit) {
		return nil
	}
	return err
}

// line handles one line of input.
func (s *Shell) line(ctx context.Context, split *Splitter, line string) error {
	statements := []string{strings.TrimSpace(line)}
	if split.Pending() || !strings.HasPrefix(statements[0], `\`) {
		statements = split.Add(line)
	}
	if split.text.Len() > MaxStatementBytes {
		return fmt.Errorf("read statement: longer than %d bytes", MaxStatementBytes)
	}
	for _, text := range statements {
		if err := s.Execute(ctx, text); err != nil {
			return err
		}
		if s.failed && !s.Interactive {
			return errQuit
		}
	}
	return nil
}

// prompt is the database's name with the state of its transaction, as psql
// shows it.
func (s *Shell) prompt(more bool) string {
	end := map[bool]string{false: "=", true: "-"}[more]
	state := map[byte]string{'T': "*", 'E': "!"}[s.conn.TxStatus()]
	return s.database + end + state + "# "
}

// Execute runs statements, or one command that begins with a backslash, and
// prints what comes back. A failed statement is reported, not returned.
func (s *Shell) Execute(ctx context.Context, text string) error {
	if strings.HasPrefix(text, `\`) {
		return s.command(ctx, text)
	}
	if s.Interrupt != nil {
		one, end := s.Interrupt(ctx)
		defer end()
		ctx = one
	}
	var err error
	if kind := copyKind(text); kind != "" {
		var tag string
		if tag, err = s.copyData(ctx, text, kind); err == nil {
			_, err = fmt.Fprintln(s.Out, tag)
		}
	} else {
		err = s.exec(ctx, text)
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		s.failed = true
		s.report(pgErr, text)
		return nil
	}
	return err
}

// exec sends statements and prints their results.
func (s *Shell) exec(ctx context.Context, text string) error {
	results := s.conn.Exec(ctx, text)
	for results.NextResult() {
		if err := s.print(results.ResultReader()); err != nil {
			_ = results.Close() // the error of printing is the one to tell
			return err
		}
	}
	return results.Close()
}

// print writes one result: a table, and the command's tag where psql shows it.
func (s *Shell) print(r *pgconn.ResultReader) error {
	t := table{}
	for _, f := range r.FieldDescriptions() {
		t.columns = append(t.columns, f.Name)
		t.right = append(t.right, isNumber(f.DataTypeOID))
	}
	more := 0
	for r.NextRow() {
		if len(t.rows) == MaxRows {
			more++
			continue
		}
		row := make([]*string, len(t.columns))
		for i, v := range r.Values() {
			if v != nil {
				text := string(v)
				row[i] = &text
			}
		}
		t.rows = append(t.rows, row)
	}
	tag, err := r.Close()
	if err != nil {
		return nil // Exec's Close reports it
	}
	if len(t.columns) == 0 {
		_, err = fmt.Fprintln(s.Out, tag.String())
		return err
	}
	if err := t.write(s.Out); err != nil {
		return err
	}
	if more > 0 {
		fmt.Fprintf(s.Err, "%d more rows are not shown\n", more)
	}
	return nil
}

func isNumber(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.OIDOID:
		return true
	}
	return false
}

// report prints a notice or an error with its details, and the line of the
// statement that it is about.
func (s *Shell) report(e *pgconn.PgError, statement string) {
	fmt.Fprintf(s.Err, "%s:  %s\n", e.Severity, printable(e.Message))
	position, runes := int(e.Position), []rune(statement)
	if position > 0 && position <= len(runes) {
		before := string(runes[:position-1])
		start := strings.LastIndexByte(before, '\n') + 1
		line, _, _ := strings.Cut(statement[start:], "\n")
		head := fmt.Sprintf("LINE %d: ", strings.Count(before, "\n")+1)
		fmt.Fprintf(s.Err, "%s%s\n%s^\n", head, printable(line), strings.Repeat(" ", len(head)+len([]rune(before[start:]))))
	}
	for _, more := range [][2]string{{"DETAIL", e.Detail}, {"HINT", e.Hint}, {"CONTEXT", e.Where}} {
		if more[1] != "" && (more[0] != "CONTEXT" || e.Severity == "ERROR") {
			fmt.Fprintf(s.Err, "%s:  %s\n", more[0], printable(more[1]))
		}
	}
}
