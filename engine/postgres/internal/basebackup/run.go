package basebackup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"forklift/storage/vfs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Limits of the protocol. The first message waits for a checkpoint of the
// source, which may take minutes on a busy server.
const (
	firstTimeout    = 15 * time.Minute // to the first message
	idleTimeout     = 2 * time.Minute  // between two messages
	maxMessageBytes = 8 << 20          // PostgreSQL sends 32 KiB
	maxFieldBytes   = 4 << 10          // of a row that is kept for an error
	maxTablespaces  = 1000
)

// Options say how a copy is made.
type Options struct {
	Label    string                        // in the source's log and in backup_label
	Progress func(done, total int64)       // bytes; total is the source's estimate
	Room     func(total, done int64) error // asked before the first byte, and every roomEvery bytes
}

// Info describes a finished copy.
type Info struct {
	Start, End string   // LSNs
	Timeline   string   // of Start
	Bytes      int64    // of the files that were made
	Files      int      // that were made
	Skipped    []string // names at the top that were left out, sorted
}

// ErrRefused wraps the answer of a server that does not let this role make a
// copy, or cannot (wal_level, max_wal_senders): nothing was sent.
var ErrRefused = errors.New("the server refuses a copy")

// receiver reads the answer to BASE_BACKUP.
type receiver struct {
	ctx   context.Context
	conn  *pgconn.PgConn
	opt   Options
	info  Info
	total int64 // the source's estimate, bytes
	done  int64 // bytes of the archive so far
	rest  []byte
	ended bool // the archive has ended
	watch *time.Timer
	late  atomic.Bool // the watch has gone off
}

// Run makes a copy in the empty directory root. After an error the directory
// holds anything. The connection is of no use afterwards.
func Run(ctx context.Context, conn *pgconn.PgConn, root vfs.Root, opt Options) (*Info, error) {
	conn.Frontend().SetMaxBodyLen(maxMessageBytes)
	stop := context.AfterFunc(ctx, func() { _ = conn.Conn().SetDeadline(time.Unix(1, 0)) })
	defer stop()
	r := &receiver{ctx: ctx, conn: conn, opt: opt}
	r.watch = time.AfterFunc(firstTimeout, func() {
		r.late.Store(true)
		_ = conn.Conn().SetDeadline(time.Unix(1, 0))
	})
	defer r.watch.Stop()
	if err := r.keepWAL(); err != nil {
		return nil, r.interrupted(err)
	}
	if err := r.begin(); err != nil {
		return nil, r.interrupted(err)
	}
	u := &unpacker{ctx: ctx, root: root, opt: opt, total: r.total}
	if err := u.unpack(r); err != nil {
		return nil, r.interrupted(err)
	}
	// What stands behind the last member is padding.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, r.interrupted(err)
	}
	if err := r.finish(); err != nil {
		return nil, r.interrupted(err)
	}
	r.info.Bytes, r.info.Files, r.info.Skipped = u.bytes, u.files, u.skippedNames()
	return &r.info, nil
}

// interrupted prefers the context's end over the errors that it causes.
func (r *receiver) interrupted(err error) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	return err
}

// keepWAL makes a temporary slot. A server that cannot give one is copied
// without: then the WAL may be recycled before it is sent, which is an error
// of the copy and never a wrong copy.
func (r *receiver) keepWAL() error {
	name := "forklift_" + strings.ToLower(rand.Text()[:10])
	_, err := r.conn.Exec(r.ctx, "CREATE_REPLICATION_SLOT "+name+" TEMPORARY PHYSICAL RESERVE_WAL").ReadAll()
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return nil
	}
	return err
}

// receive gives the next message that is about the copy.
func (r *receiver) receive(limit time.Duration) (pgproto3.BackendMessage, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	r.watch.Reset(limit)
	for {
		message, err := r.conn.Frontend().Receive()
		if err != nil && r.late.Load() {
			return nil, fmt.Errorf("the server sends nothing for %s", limit)
		}
		if err != nil {
			return nil, fmt.Errorf("receive: %w", err)
		}
		switch m := message.(type) {
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus, *pgproto3.NotificationResponse:
			continue
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(m)
		}
		return message, nil
	}
}

// begin asks for the copy and reads what comes before the archive.
func (r *receiver) begin() error {
	label := strings.ReplaceAll(r.opt.Label, "'", "''")
	r.conn.Frontend().SendQuery(&pgproto3.Query{String: "BASE_BACKUP (LABEL '" + label + "', PROGRESS, CHECKPOINT 'fast', WAL, WAIT)"})
	if err := r.conn.Frontend().Flush(); err != nil {
		return fmt.Errorf("ask for a copy: %w", err)
	}
	start, err := r.rows(firstTimeout)
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return err
	}
	if len(start) != 1 || len(start[0]) != 2 {
		return errors.New("the server does not tell where the copy starts")
	}
	r.info.Start, r.info.Timeline = start[0][0], start[0][1]
	spaces, err := r.rows(idleTimeout)
	if err != nil {
		return err
	}
	for _, s := range spaces {
		if len(s) != 3 {
			return errors.New("the server tells of its tablespaces in an unknown way")
		}
		if s[0] != "" {
			return fmt.Errorf("a tablespace is outside the data directory: %s", s[1])
		}
		kb, err := strconv.ParseInt(s[2], 10, 54)
		if err != nil {
			return fmt.Errorf("the size of the database: %w", err)
		}
		r.total = kb << 10
	}
	message, err := r.receive(idleTimeout)
	if err != nil {
		return err
	}
	if _, ok := message.(*pgproto3.CopyOutResponse); !ok {
		return fmt.Errorf("%T in place of the copy", message)
	}
	if r.opt.Room != nil {
		return r.opt.Room(r.total, 0)
	}
	return nil
}

// rows reads one result: its rows as text, NULL as "".
func (r *receiver) rows(limit time.Duration) ([][]string, error) {
	var rows [][]string
	for {
		message, err := r.receive(limit)
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.RowDescription:
		case *pgproto3.DataRow:
			if len(rows) == maxTablespaces {
				return nil, fmt.Errorf("more than %d tablespaces", maxTablespaces)
			}
			var row []string
			for _, v := range m.Values {
				row = append(row, string(v[:min(len(v), maxFieldBytes)]))
			}
			rows = append(rows, row)
		case *pgproto3.CommandComplete:
			return rows, nil
		default:
			return nil, fmt.Errorf("%T in place of a result", message)
		}
	}
}

// Read gives the bytes of the archive.
func (r *receiver) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next takes one message of the copy. The first byte says what it is.
func (r *receiver) next() error {
	message, err := r.receive(idleTimeout)
	if err != nil {
		return err
	}
	switch m := message.(type) {
	case *pgproto3.CopyDone:
		r.ended = true
		return nil
	case *pgproto3.CopyData:
		if len(m.Data) == 0 {
			return errors.New("an empty message in the copy")
		}
		switch kind := m.Data[0]; kind {
		case 'd':
			r.rest = m.Data[1:]
			r.done += int64(len(r.rest))
			if r.opt.Progress != nil {
				r.opt.Progress(r.done, max(r.total, r.done))
			}
		case 'n':
			if name, _, _ := strings.Cut(string(m.Data[1:]), "\x00"); name != "base.tar" {
				return fmt.Errorf("the server sends an archive %q", name[:min(len(name), maxFieldBytes)])
			}
		case 'p', 'm': // progress of the server, a manifest that was not asked for
		default:
			return fmt.Errorf("the server sends a part of kind %q", kind)
		}
		return nil
	}
	return fmt.Errorf("%T in the copy", message)
}

// finish reads where the copy ends.
func (r *receiver) finish() error {
	end, err := r.rows(firstTimeout)
	if err != nil {
		return err
	}
	if len(end) != 1 || len(end[0]) != 2 {
		return errors.New("the server does not tell where the copy ends")
	}
	r.info.End = end[0][0]
	for {
		message, err := r.receive(idleTimeout)
		if err != nil {
			return err
		}
		switch message.(type) {
		case *pgproto3.CommandComplete:
		case *pgproto3.ReadyForQuery:
			return nil
		default:
			return fmt.Errorf("%T behind the copy", message)
		}
	}
}
