package testsuite

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"forklift/testsuite/internal/harness"

	"github.com/rogpeppe/go-internal/testscript"
)

// maxEventually is how long eventually tries.
const maxEventually = 20 * time.Second

// exitCode runs a program and gives its exit code; what it printed is what
// stdout, stderr and json look at next.
func exitCode(ts *testscript.TestScript, argv []string) int {
	err := ts.Exec(argv[0], argv[1:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("%s: %v", strings.Join(argv, " "), err)
	return -1
}

// cmdForklift: `forklift ARG...` must succeed and say nothing on stderr;
// `forklift -warns ARG...` must succeed and say something there, which the
// script looks at.
func cmdForklift(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("a failure is written: exits CODE forklift ARG...")
	}
	warns := len(args) > 0 && args[0] == "-warns"
	if warns {
		args = args[1:]
	}
	if code := exitCode(ts, append([]string{"forklift"}, args...)); code != 0 {
		ts.Fatalf("exit code %d, want 0", code)
	}
	if said := ts.ReadFile("stderr") != ""; said != warns {
		ts.Fatalf("words on stderr: %v, want %v", said, warns)
	}
}

// cmdExits: `exits CODE PROGRAM ARG...`.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := exitCode(ts, args[1:]); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// cmdKilled: `killed TEXT VERB ARG...` runs forklift and has it killed, by
// SIGKILL, right before the first step whose operation and path hold TEXT,
// such as "rename" and a space and a path. That has to come.
func cmdKilled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: killed TEXT VERB ARG...")
	}
	program, err := failpoints()
	ts.Check(err)
	const variable = "FORKLIFT_FAILPOINT_KILL"
	ts.Setenv(variable, args[0])
	err = ts.Exec(program, args[1:]...)
	ts.Setenv(variable, "")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return
		}
	}
	ts.Fatalf("%s: not killed, but %v", strings.Join(args[1:], " "), err)
}

// standard is the repository that `repo` makes.
var standard = map[string]string{
	".forklift.json": `{"format": 1, "source": ["src", "migrations"], "connection_env": "DATABASE_URL"}` + "\n",
	".gitignore":     "*.log\nbuild/\n",
	"README":         "A repository for tests.\n",
	"src/app.txt":    "version 1\n",
	"src/lib/a.txt":  "library\n",
	"migrations/001": "CREATE TABLE notes (id int PRIMARY KEY, body text)\n",
	"docs/guide.txt": "not selected\n",
}

// cmdRepo: `repo DIR` makes a git repository with one commit of the standard
// files.
func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	dir := ts.MkAbs(args[0])
	for name, text := range standard {
		file := filepath.Join(dir, name)
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		ts.Check(os.WriteFile(file, []byte(text), 0o644))
	}
	ts.Check(ts.Exec("git", "init", "-q", dir))
	ts.Check(ts.Exec("git", "-C", dir, "add", "-A"))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "-q", "-m", "first"))
}

// psql is psql's path and the options of a script's queries: plain rows,
// columns separated by |, the first error ends it.
func psql(args ...string) []string {
	return append([]string{filepath.Join(world.pg, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1"}, args...)
}

// cmdSQL: `sql TEXT...` runs each text in the worktree's database, `sql -f
// FILE` a file, under `forklift run`.
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	argv := []string{"forklift", "run", "--"}
	if len(args) == 2 && args[0] == "-f" {
		argv = append(argv, psql("-f", ts.MkAbs(args[1]))...)
	} else {
		argv = append(argv, psql()...)
		for _, text := range args {
			argv = append(argv, "-c", text)
		}
	}
	if code := exitCode(ts, argv); (code != 0) != neg {
		ts.Fatalf("psql: exit code %d", code)
	}
}

// cmdSession: `session TEXT...` opens a connection that is not under `forklift
// run`, runs each text in it, and keeps it open until the script ends or the
// server cuts it off. The server has to run.
func cmdSession(ts *testscript.TestScript, neg bool, args []string) {
	if code := exitCode(ts, []string{"forklift", "db", "url"}); code != 0 {
		ts.Fatalf("db url: exit code %d", code)
	}
	argv := psql("-d", strings.TrimSpace(ts.ReadFile("stdout")))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = world.root
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		in.Close()
		_ = cmd.Wait()
	})
	_, err = fmt.Fprintf(in, "%s;\n\\echo ready\n", strings.Join(args, ";\n"))
	ts.Check(err)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			return
		}
	}
	ts.Fatalf("the session ended before it was ready")
}

// cmdListen: `listen PORT` has another program listen there until the script ends.
func cmdListen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen PORT")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
}

// restrictLine is a line of pg_dump that is another one each time.
var restrictLine = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// settings lists what a cluster's own configuration files say.
const settings = `SELECT sourcefile LIKE '%auto.conf', name, setting, applied FROM pg_file_settings ORDER BY 1, 2, seqno`

// cmdDump: `dump FILE` writes everything in the cluster to FILE, as
// pg_dumpall sees it (roles, databases, schema, rows, sequences, large
// objects), and its settings.
func cmdDump(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dump FILE")
	}
	if code := exitCode(ts, []string{"forklift", "run", "--", filepath.Join(world.pg, "pg_dumpall")}); code != 0 {
		ts.Fatalf("pg_dumpall: exit code %d", code)
	}
	text := restrictLine.ReplaceAllString(ts.ReadFile("stdout"), "")
	if code := exitCode(ts, append([]string{"forklift", "run", "--"}, psql("-c", settings)...)); code != 0 {
		ts.Fatalf("psql: exit code %d", code)
	}
	text += ts.ReadFile("stdout")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdTree: `tree FILE DIR [-mtimes] [-omit PATH]...` writes a description of
// DIR with hashes to FILE.
func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tree FILE DIR [-mtimes] [-omit PATH]...")
	}
	var opt harness.TreeOptions
	for i := 2; i < len(args); i++ {
		switch {
		case args[i] == "-mtimes":
			opt.Mtimes = true
		case args[i] == "-omit" && i+1 < len(args):
			i++
			opt.Omit = append(opt.Omit, args[i])
		default:
			ts.Fatalf("unknown option %s", args[i])
		}
	}
	text, err := harness.DescribeTree(ts.MkAbs(args[1]), opt)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdEventually: `eventually REGEXP PROGRAM ARG...` runs the program again
// and again until what it prints on stdout matches.
func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP PROGRAM ARG...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.After(maxEventually)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		exitCode(ts, args[1:])
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("no match for %s within %v", args[0], maxEventually)
		case <-tick.C:
		}
	}
}

// unquote reads the escapes of a Go string: \n, \xff and so on.
func unquote(ts *testscript.TestScript, s string) string {
	var out []byte
	for rest := s; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, 0)
		if err != nil {
			ts.Fatalf("%q: %v", s, err)
		}
		if multibyte {
			out = utf8.AppendRune(out, r)
		} else {
			out = append(out, byte(r))
		}
		rest = tail
	}
	return string(out)
}

// cmdPut: `put NAME TEXT [TIMES]` writes a file; both are Go strings without
// the quotes, and the text is written TIMES times. `put -mode 755 NAME TEXT`
// gives it a mode, `put -dir NAME` makes a directory, `put -fifo NAME` a FIFO,
// `put -link TARGET NAME` a symbolic link.
func cmdPut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: put [-mode MODE | -dir | -fifo | -link TARGET] NAME [TEXT [TIMES]]")
	}
	mode := fs.FileMode(0o644)
	switch args[0] {
	case "-mode":
		m, err := strconv.ParseUint(args[1], 8, 32)
		ts.Check(err)
		mode, args = fs.FileMode(m), args[2:]
	case "-dir":
		ts.Check(os.MkdirAll(ts.MkAbs(unquote(ts, args[1])), 0o755))
		return
	case "-fifo":
		ts.Check(syscall.Mkfifo(ts.MkAbs(unquote(ts, args[1])), 0o644))
		return
	case "-link":
		ts.Check(os.Symlink(unquote(ts, args[1]), ts.MkAbs(unquote(ts, args[2]))))
		return
	}
	text, times := unquote(ts, args[1]), 1
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		times = n
	}
	name := ts.MkAbs(unquote(ts, args[0]))
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	ts.Check(os.WriteFile(name, []byte(strings.Repeat(text, times)), mode))
	ts.Check(os.Chmod(name, mode))
}

// longAgo is the modification time that `age` gives.
var longAgo = time.Date(2020, 2, 3, 4, 5, 6, 123456789, time.UTC)

// cmdAge: `age NAME...` sets modification times to a moment of 2020; `! age
// NAME...` checks that they are younger than two minutes, `age -still NAME...`
// that they are what age made them.
func cmdAge(ts *testscript.TestScript, neg bool, args []string) {
	still := len(args) > 0 && args[0] == "-still"
	if still {
		args = args[1:]
	}
	for _, name := range args {
		file := ts.MkAbs(name)
		if !still && !neg {
			ts.Check(os.Chtimes(file, longAgo, longAgo))
			continue
		}
		info, err := os.Stat(file)
		ts.Check(err)
		switch got := info.ModTime(); {
		case neg && time.Since(got) > 2*time.Minute:
			ts.Fatalf("%s: modification time %v, want the present", name, got)
		case still && !got.Equal(longAgo):
			ts.Fatalf("%s: modification time %v, want %v", name, got, longAgo)
		}
	}
}

// cmdMount: `mount DIR ARG...` is mount(8) with the directory first; what it
// mounts is unmounted when the script ends. `! mount DIR` unmounts.
func cmdMount(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	if neg {
		ts.Check(ts.Exec("umount", dir))
		return
	}
	ts.Check(os.MkdirAll(filepath.Dir(dir), 0o755))
	ts.Check(ts.Exec("mount", append(args[1:], dir)...))
	ts.Defer(func() { _ = exec.Command("umount", "-l", dir).Run() })
}

// cmdShells: `shells` puts zsh, fish and direnv into PATH, those of the system
// or of .cache; ZSH_TREE is where the latter's zsh has its modules.
func cmdShells(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: shells")
	}
	top := ts.Getenv("TOP")
	cmd := exec.Command(filepath.Join(top, "testsuite", "shells.sh"), filepath.Join(top, ".cache", "shells"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	ts.Check(err)
	bin := strings.TrimSpace(string(out))
	ts.Setenv("PATH", bin+string(os.PathListSeparator)+ts.Getenv("PATH"))
	ts.Setenv("ZSH_TREE", filepath.Dir(bin))
}
