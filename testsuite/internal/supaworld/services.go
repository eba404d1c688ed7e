package supaworld

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed" // the files of the PostgreSQL archive
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/klauspost/compress/zstd"

	"forklift/testsuite/internal/harness"
)

// service is one that the CLI knows: under which key of the lock, by which
// name of its archive, and in which version of the CLI's own list.
type service struct {
	key      string
	name     string
	upstream string
	revision int
	image    string   // of Docker; nobody asks for it
	programs []string // of the archive, beside PostgreSQL's: the stand-in's first argument after the colon
}

// services are all services of CLIVersion.
var services = []service{
	{key: "database", name: "postgres", upstream: "17.11.0.018", image: "supabase/postgres:17.11.0.018"},
	{key: "auth", name: "auth", upstream: "v2.197.0", image: "supabase/gotrue:v2.197.0", programs: []string{"auth:auth"}},
	{key: "rest", name: "postgrest", upstream: "v16.5", image: "postgrest/postgrest:v16.5", programs: []string{"postgrest:rest"}},
	{key: "storage", name: "storage", upstream: "v1.90.1", image: "supabase/storage-api:v1.90.1", programs: []string{"storage:storage", "prepare:storage-prepare"}},
	{key: "realtime", name: "realtime", upstream: "v2.154.0", image: "supabase/realtime:v2.154.0", programs: []string{"server:realtime", "prepare:nothing"}},
	{key: "imgproxy", name: "imgproxy", upstream: "v3.26.0", image: "ghcr.io/imgproxy/imgproxy:v3.26.0", programs: []string{"imgproxy:imgproxy"}},
	{key: "functions", name: "edge-runtime", upstream: "v1.78.1", image: "supabase/edge-runtime:v1.78.1", programs: []string{"edge-runtime:functions"}},
	{key: "studio", name: "studio", upstream: "2026.11.09-sha-1567384", image: "supabase/studio:2026.11.09-sha-1567384", programs: []string{"studio:studio"}},
	{key: "pgmeta", name: "pgmeta", upstream: "v0.100.0", image: "supabase/postgres-meta:v0.100.0", programs: []string{"pgmeta:pgmeta"}},
	{key: "mail", name: "mailpit", upstream: "v1.31.3", image: "axllent/mailpit:v1.31.3", programs: []string{"mailpit:mail"}},
	{key: "analytics", name: "analytics", upstream: "v1.50.15", revision: 1, image: "supabase/logflare:1.50.15", programs: []string{"logflare:analytics", "prepare:nothing"}},
	{key: "pooler", name: "pooler", upstream: "v2.10.0", image: "supabase/supavisor:2.10.0", programs: []string{"server:pooler", "prepare:nothing", "provision-tenant:nothing"}},
}

// release is the version that an archive's name has.
func (s service) release() string { return fmt.Sprintf("%s-r%d", s.upstream, s.revision) }

// target is this machine in the CLI's words.
func target() string { return runtime.GOOS + "-" + runtime.GOARCH }

//go:embed postgres/start.sh
var startScript string

//go:embed postgres/initial.sql
var initialSQL string

// postgresPrograms are started from where PostgreSQL is installed.
var postgresPrograms = []string{"postgres", "initdb", "pg_dump", "pg_dumpall", "psql"}

// file is one of an archive.
type file struct {
	mode int64
	text string
}

// starter is a program that becomes another one.
func starter(argv ...string) file {
	text := "#!/bin/sh\nexec"
	for _, a := range argv {
		text += fmt.Sprintf(" '%s'", a)
	}
	return file{0o755, text + " \"$@\"\n"}
}

// files are the contents of a service's archive: starters of the PostgreSQL in
// pg, or of the stand-in. The archive may then not be moved to another machine.
func (s service) files(pg, standin string) map[string]file {
	list := map[string]file{}
	for _, p := range s.programs {
		program, role, _ := bytes.Cut([]byte(p), []byte(":"))
		list["bin/"+string(program)] = starter(standin, string(role))
	}
	if s.key != "database" {
		return list
	}
	for _, p := range postgresPrograms {
		list["bin/"+p] = starter(filepath.Join(pg, p))
	}
	list["bin/pg_prove"] = file{0o755, "#!/bin/sh\necho 'pg_prove is not part of the test world' >&2\nexit 1\n"}
	list["bin/supabase-postgres-start"] = file{0o755, startScript}
	list["share/initial.sql"] = file{0o644, initialSQL}
	list["share/supabase-cli/config/postgresql.conf.template"] = file{0o644, "wal_level = logical\n"}
	return list
}

// artifact is an archive with its manifest, as they are served.
type artifact struct {
	archive, manifest []byte
}

// pack makes a service's artifact.
func (s service) pack(pg, standin string) (artifact, error) {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		return artifact{}, err
	}
	t := tar.NewWriter(z)
	list := s.files(pg, standin)
	var names []string
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := list[name]
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: f.mode, Size: int64(len(f.text)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
			return artifact{}, err
		}
		if _, err := t.Write([]byte(f.text)); err != nil {
			return artifact{}, err
		}
	}
	if err := t.Close(); err != nil {
		return artifact{}, err
	}
	if err := z.Close(); err != nil {
		return artifact{}, err
	}
	manifest, err := json.Marshal(map[string]string{"service": s.name, "version": s.release(), "target": target()})
	return artifact{out.Bytes(), manifest}, err
}

// digest is a SHA-256 in hexadecimal.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// pin is what the lock says about a service: our archive's digests for this
// machine, and for all others ones that nothing has.
func (s service) pin(a artifact) map[string]any {
	nothing := digest(nil)
	natives := map[string]any{}
	for _, name := range []string{"darwin-arm64", "linux-amd64", "linux-arm64"} {
		natives[name] = map[string]string{"archive": nothing, "manifest": nothing}
	}
	natives[target()] = map[string]string{"archive": digest(a.archive), "manifest": digest(a.manifest)}
	entry := map[string]any{"specifier": "linked", "resolution": "unlinked"}
	entry["resolved"] = map[string]any{
		"image":   fmt.Sprintf("ghcr.io/supabase/cli/%s:%s@sha256:%s", s.name, s.release(), nothing),
		"natives": natives, "revision": s.revision, "upstreamImage": s.image, "upstreamVersion": s.upstream}
	if s.key == "database" {
		entry["line"], entry["majorVersion"] = "stock", 17
	}
	return entry
}

// buildStandin compiles the stand-in into dir.
func buildStandin(dir string) (string, error) {
	top, err := harness.Top()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "standin")
	cmd := exec.Command("go", "build", "-o", out, "./testsuite/internal/supaworld/standin")
	cmd.Dir, cmd.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the stand-in: %w\n%s", err, text)
	}
	return out, os.Chmod(dir, 0o755)
}
