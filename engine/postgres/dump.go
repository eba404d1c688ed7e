package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

const (
	// dumpTimeout bounds a dump and its load.
	dumpTimeout = 24 * time.Hour
	// maxRolesBytes bounds what pg_dumpall says about roles.
	maxRolesBytes = 64 << 20
)

// DumpServer loads what pg_dump and pg_dumpall say about a server; see
// engine.Copier. Passwords of roles are not read: that takes a superuser.
func (c *cluster) DumpServer(ctx context.Context, src engine.SourceServer) (*engine.Copied, error) {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	s, err := c.askSource(ctx, src)
	if err != nil {
		return nil, err
	}
	pgDump, err := c.client(ctx, "pg_dump", s.about.Major)
	if err != nil {
		return nil, err
	}
	pgDumpall, err := c.client(ctx, "pg_dumpall", s.about.Major)
	if err != nil {
		return nil, err
	}
	place, env := s.clientPlace(c.opt)
	done := &engine.Copied{Method: engine.MethodDump, Source: s.name, Version: s.about.Version, Database: s.about.Database,
		Warnings: []string{"only the database " + s.about.Database + " and the roles, without their passwords, were copied"}}
	err = c.loading(ctx, s.about.Database, func(database string) error {
		progress.Report(ctx, progress.Event{Phase: "dump roles"})
		var roles bytes.Buffer
		in := c.clientStream(env, pgDumpall, "--roles-only", "--no-role-passwords", "--no-password", "-l", s.about.Database, "-d", place)
		err := in.run(ctx, func(out io.Reader) error {
			_, err := io.Copy(&roles, io.LimitReader(out, maxRolesBytes))
			return err
		})
		if err != nil {
			return err
		}
		if err := c.loadFrom(ctx, "roles of "+s.name, withoutSuperuser(&roles), database); err != nil {
			return err
		}
		in = c.clientStream(env, pgDump, "--no-tablespaces", "--no-subscriptions", "--no-password", "-d", place)
		return in.run(ctx, func(out io.Reader) error {
			counter := &counted{in: out, ctx: ctx, event: progress.Event{Phase: "copy by pg_dump"}}
			err := c.loadFrom(ctx, "dump of "+s.name, counter, database)
			done.Bytes = counter.event.DoneBytes
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// clientPlace is the URL without its password, which every user of the machine could see
// among a program's arguments, and an environment that has it.
func (s *source) clientPlace(opt Options) (place string, env []string) {
	u := *s.url
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	query.Del("password")
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	env = opt.childEnv()
	for _, name := range []string{"PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSSLMODE", "PGSSLCERT",
		"PGSSLKEY", "PGSSLROOTCERT", "PGSSLCRL", "PGCHANNELBINDING", "PGGSSENCMODE", "PGKRBSRVNAME"} {
		if v := opt.getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if s.config.Password != "" {
		env = append(env, "PGPASSWORD="+s.config.Password)
	}
	return u.String(), append(env, "PGAPPNAME="+applicationName)
}

// withoutSuperuser drops what is said about the role that every cluster of
// ours has: elsewhere it may be less than a superuser.
func withoutSuperuser(text *bytes.Buffer) io.Reader {
	var out bytes.Buffer
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "CREATE ROLE "+superuser+";") && !strings.HasPrefix(line, "ALTER ROLE "+superuser+" WITH") {
			out.WriteString(line)
		}
	}
	return &out
}

// clientVersion is what the client programs print for --version.
var clientVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// client finds one of PostgreSQL's client programs, beside the server's
// programs or in PATH, that is not older than major.
func (c *cluster) client(ctx context.Context, name string, major int) (string, error) {
	var dirs, refused []string
	if inst := c.running(); inst != nil {
		dirs = append(dirs, inst.Bin)
	}
	for _, dir := range append(dirs, c.opt.pathDirs()...) {
		program := filepath.Join(dir, name)
		if !executable(program) {
			continue
		}
		said, err := c.opt.output(ctx, probeTimeout, nil, nil, program, "--version")
		m := clientVersion.FindStringSubmatch(said)
		if err != nil || m == nil {
			refused = append(refused, program+": tells no version")
			continue
		}
		if v, _ := strconv.Atoi(m[1]); v < major {
			refused = append(refused, fmt.Sprintf("%s: is version %d", program, v))
			continue
		}
		return program, nil
	}
	version := preferredMajor
	if major > version {
		version = major
	}
	return "", &fault.Error{Op: "find " + name, Kind: fault.Unsupported, Items: refused,
		Err:  fmt.Errorf("no %s of version %d or newer beside the server's programs or in PATH", name, max(major, 0)),
		Hint: fmt.Sprintf("Install the client programs of PostgreSQL %d, such as Debian's postgresql-client-%d.", version, version)}
}

// stream is a program whose output is read while it runs.
type stream struct {
	program string
	args    []string
	env     []string
}

func (c *cluster) clientStream(env []string, program string, args ...string) *stream {
	return &stream{program: program, args: args, env: env}
}

// run runs the program and gives its output to read. An error of the reader
// ends the program; what that said by then is part of the error, because the
// output of a program that fails ends in the middle.
func (s *stream) run(ctx context.Context, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, s.args...)
	cmd.Env, cmd.Dir = s.env, "/"
	stderr := &capped{}
	cmd.Stderr, cmd.WaitDelay = stderr, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return runError(ctx, s.program, dumpTimeout, "", err)
	}
	readErr := read(out)
	failed := ctx.Err() // before our own end of it
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	switch {
	case failed != nil:
		return runError(ctx, s.program, dumpTimeout, stderr.String(), failed)
	case readErr != nil:
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return &fault.Error{Op: "run", Path: s.program, Err: fmt.Errorf("%s (%w)", said, readErr), Hint: fault.HintOf(readErr)}
		}
		return readErr
	case waitErr != nil:
		return runError(ctx, s.program, dumpTimeout, stderr.String(), waitErr)
	}
	return nil
}

// archiveFormat tells which of pg_dump's archive formats a file has; "" is
// plain SQL.
func archiveFormat(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(name, "toc.dat")); err != nil {
			return "", &fault.Error{Op: "load", Path: name, Kind: fault.Usage, Err: errors.New("the directory has no toc.dat"),
				Hint: "Name a file or a directory that pg_dump wrote."}
		}
		return "directory", nil
	}
	if !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := bufio.NewReader(f).Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PGDMP")):
		return "custom", nil
	case len(head) == 512 && bytes.HasPrefix(head[257:], []byte("ustar")):
		return "tar", nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "", &fault.Error{Op: "load", Path: name, Kind: fault.Usage, Err: errors.New("the file is compressed"),
			Hint: "Unpack it first, with gunzip or unzstd; archives of pg_dump -Fc are compressed inside and need nothing."}
	}
	return "", nil
}

// LoadDump loads a dump of any format; see engine.Copier. Archives go through
// pg_restore, which writes them as SQL; that is loaded like a plain file.
func (c *cluster) LoadDump(ctx context.Context, sql []string, dump, database string) error {
	format, err := archiveFormat(dump)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &fault.Error{Op: "load", Path: dump, Kind: fault.NotFound, Err: err, Hint: "Check the name of the file."}
		}
		return err
	}
	if format == "" {
		return c.Load(ctx, append(sql[:len(sql):len(sql)], dump), database)
	}
	program, err := c.client(ctx, "pg_restore", 0)
	if err != nil {
		return fmt.Errorf("%s is an archive in %s format: %w", dump, format, err)
	}
	return c.loading(ctx, database, func(database string) error {
		if err := c.loadFiles(ctx, sql, database); err != nil {
			return err
		}
		in := c.clientStream(c.opt.childEnv(), program, "--no-tablespaces", "--file=-", dump)
		return in.run(ctx, func(out io.Reader) error {
			counter := &counted{in: out, ctx: ctx, event: progress.Event{Phase: "load " + dump}}
			return c.loadFrom(ctx, dump, counter, database)
		})
	})
}
