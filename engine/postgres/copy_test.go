package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// sourceURL leads to the server of another cluster of this test, as one of
// its roles.
func sourceURL(t *testing.T, c *cluster, user, database string) engine.Secret {
	t.Helper()
	socket, err := c.socketDir(t.Context())
	must(t, err)
	return engine.Secret("postgres://" + user + ":wrong-but-unasked@/" + database + "?host=" + url.QueryEscape(socket))
}

// otherSource is a server with several databases and roles whose settings are
// no good here.
func otherSource(t *testing.T) *cluster {
	t.Helper()
	from := started(t)
	must(t, from.Load(t.Context(), []string{write(t, "schema.sql", schemaSQL)}, ""))
	sql(t, from, "CREATE DATABASE side", "CREATE ROLE reader LOGIN PASSWORD 'secret'",
		"ALTER SYSTEM SET archive_mode = on", "ALTER SYSTEM SET archive_command = 'false'", "ALTER SYSTEM SET shared_buffers = '48MB'",
		"ALTER SYSTEM SET max_prepared_transactions = 3", "ALTER SYSTEM SET shared_preload_libraries = 'auto_explain'",
		"ALTER SYSTEM SET TimeZone = 'Europe/Vienna'", "ALTER DATABASE app SET work_mem = '6MB'", "TRUNCATE u")
	must(t, from.Stop(t.Context()))
	must(t, from.Start(t.Context(), engine.SlotA))
	sql(t, from, "SELECT pg_create_physical_replication_slot('kept')", "BEGIN; CREATE TABLE prepared (n int); PREPARE TRANSACTION 'two'")
	return from
}

func TestCopyServer(t *testing.T) {
	from := otherSource(t)
	want := dump(t, from)
	var events []progress.Event
	ctx := progress.With(t.Context(), progress.Func(func(e progress.Event) { events = append(events, e) }))
	to := branch(t, options(t))
	got, err := to.CopyServer(ctx, engine.SlotA, engine.SourceServer{URL: sourceURL(t, from, "postgres", "app")})
	must(t, err)
	if got.Method != engine.MethodCopy || got.Database != "app" || got.Bytes == 0 || strings.Contains(fmt.Sprint(*got), "wrong-but") {
		t.Errorf("copied: %+v", got)
	}
	if text := strings.Join(got.Warnings, "\n"); len(got.Warnings) != 2 || !strings.Contains(text, "auto_explain") || !strings.Contains(text, "unlogged tables of database app are empty in the copy: public.u") {
		t.Errorf("warnings %q, want one about auto_explain and one about an unlogged table", got.Warnings)
	}
	last := int64(0)
	for _, e := range events {
		if e.Phase == "copy database" {
			if e.DoneBytes < last || e.TotalBytes < e.DoneBytes {
				t.Fatalf("progress goes from %d to %+v", last, e)
			}
			last = e.DoneBytes
		}
	}
	if last < got.Bytes {
		t.Errorf("progress ends at %d of %d bytes", last, got.Bytes)
	}
	if now := dump(t, from); now != want {
		t.Errorf("the source has changed:\n%s", firstDifference(want, now))
	}
	if n := value(t, from, "SELECT string_agg(slot_name::text, ',') FROM pg_replication_slots"); n != "kept" {
		t.Errorf("replication slots of the source: %s", n)
	}

	wantState(t, to, engine.SlotA, engine.AtRest)
	for _, name := range []string{"backup_label", "backup_label.old", "pg_hba.conf", "pg_replslot/kept", "standby.signal"} {
		if _, err := os.Lstat(filepath.Join(to.slotDir(engine.SlotA), name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	_, err = to.Trees(t.Context(), engine.SlotA, false)
	must(t, err)
	if w := to.Warnings(); len(w) > 0 {
		t.Errorf("a capture of the copy warns: %q", w)
	}
	must(t, to.Start(t.Context(), engine.SlotA))
	if now := dump(t, to); now != want {
		t.Errorf("the copy is not what the source was:\n%s", firstDifference(want, now))
	}
	for setting, want := range map[string]string{"archive_mode": "off", "shared_preload_libraries": "", "shared_buffers": "32MB",
		"max_prepared_transactions": "3", "TimeZone": "Europe/Vienna", "max_logical_replication_workers": "0"} {
		conn, err := to.dial(t.Context(), "app", superuser, nil)
		must(t, err)
		var got string
		must(t, conn.QueryRow(t.Context(), "SELECT current_setting('"+setting+"')").Scan(&got))
		(&session{conn}).close()
		if got != want {
			t.Errorf("%s is %q in the copy, want %q", setting, got, want)
		}
	}
	if n := value(t, to, "SELECT count(*)::text FROM pg_prepared_xacts"); n != "1" {
		t.Errorf("%s prepared transactions in the copy", n)
	}
}

// TestCopyWithoutPostgresRole copies a cluster whose superuser has another name, while it is written to.
func TestCopyWithoutPostgresRole(t *testing.T) {
	from := started(t)
	sql(t, from, "CREATE TABLE t (n int)", "CREATE ROLE boss SUPERUSER LOGIN", "CREATE ROLE app LOGIN")
	conn, err := from.dial(t.Context(), "app", "boss", nil)
	must(t, err)
	boss := &session{conn}
	defer boss.close()
	must(t, boss.exec(t.Context(), "ALTER ROLE postgres RENAME TO root"))
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil && boss.exec(ctx, fmt.Sprintf("INSERT INTO public.t SELECT %d FROM generate_series(1, 100)", n)) == nil {
			n++
		}
		written <- n
	}()
	to := branch(t, options(t))
	_, err = to.CopyServer(t.Context(), engine.SlotA, engine.SourceServer{URL: sourceURL(t, from, "boss", "app")})
	cancel()
	n := <-written
	must(t, err)
	must(t, to.Start(t.Context(), engine.SlotA))
	if got := value(t, to, "SELECT (count(*) % 100)::text || '/' || (count(*) <= "+fmt.Sprint((n+1)*100)+")::text FROM public.t"); got != "0/true" {
		t.Errorf("rows of whole transactions: %s", got)
	}
	if conn, err = from.dial(t.Context(), "app", "boss", nil); err == nil {
		defer (&session{conn}).close()
		must(t, (&session{conn}).exec(t.Context(), "ALTER ROLE root RENAME TO postgres"))
	}
}

// TestCopyRefused has servers and roles that give no physical copy.
func TestCopyRefused(t *testing.T) {
	from := started(t)
	sql(t, from, "CREATE ROLE app LOGIN", "GRANT ALL ON DATABASE app TO app", "CREATE TABLE public.notes (body text)", "INSERT INTO notes VALUES ('kept')",
		"ALTER TABLE notes OWNER TO app")
	src := engine.SourceServer{URL: sourceURL(t, from, "app", "app")}
	to := started(t)
	got, err := to.CopyServer(t.Context(), engine.SlotB, src)
	must(t, err)
	if got.Method != "" || !strings.Contains(got.Refused, "permission denied") {
		t.Errorf("copied: %+v, want a refusal", got)
	}
	if empty, err := to.emptySlot(engine.SlotB); err != nil || !empty {
		t.Errorf("something was written: %v", err)
	}
	src.Method = engine.MethodCopy
	if _, err := to.CopyServer(t.Context(), engine.SlotB, src); fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.HintOf(err), "--method dump") {
		t.Errorf("--method copy: %v", err)
	}
	src.Method = engine.MethodDump
	if got, err = to.CopyServer(t.Context(), engine.SlotB, src); err != nil || got.Method != "" {
		t.Errorf("--method dump: %+v, %v", got, err)
	}
	got, err = to.DumpServer(t.Context(), src)
	must(t, err)
	if got.Method != engine.MethodDump || got.Bytes == 0 {
		t.Errorf("dumped: %+v", got)
	}
	if v := value(t, to, "SELECT body || tableowner FROM public.notes, pg_tables WHERE tablename = 'notes'"); v != "keptapp" {
		t.Errorf("the dump has %q", v)
	}
}

func TestSourceURLs(t *testing.T) {
	for _, text := range []string{"", "host=/tmp dbname=secret-word", "mysql://u:secret-word@h/d", "postgres://u:secret-word@h:port/d", "postgres://u:secret-word%zz@h/d"} {
		_, err := openSource(engine.Secret(text))
		if fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: %v", text, err)
		}
	}
	s, err := openSource("postgres://u:secret-word@db.example:5433/shop?sslmode=disable&password=other")
	must(t, err)
	place, env := s.clientPlace(options(t))
	if place != "postgres://u@db.example:5433/shop?sslmode=disable" || s.name != "db.example:5433/shop" {
		t.Errorf("place %s, name %s", place, s.name)
	}
	// The driver tells of each try, with a tab; the first address refuses at once.
	nobody, err := openSource("postgres://u@127.0.0.1:1/shop")
	must(t, err)
	_, err = nobody.connect(t.Context())
	if text := fmt.Sprint(err); !strings.HasPrefix(text, "read database 127.0.0.1:1/shop: 127.0.0.1:1") || strings.ContainsAny(text, "\n\t") ||
		strings.Count(text, "connection refused") != 1 || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("no server: %q", text)
	}
	if text := strings.Join(env, "\n"); !strings.Contains(text, "PGPASSWORD=other") {
		t.Errorf("environment %s", text)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", engine.Secret("secret-word"), engine.SourceServer{URL: "secret-word"}, engine.SourceServer{URL: "secret-word"}, engine.Secret("secret-word")); strings.Contains(text, "secret-word") {
		t.Errorf("a secret prints as %s", text)
	}
}
