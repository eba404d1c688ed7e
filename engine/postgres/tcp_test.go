package postgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"

	"github.com/jackc/pgx/v5"
)

// login connects with the variable of Env that holds the URL.
func login(t *testing.T, c *cluster) error {
	t.Helper()
	vars, err := c.Env(t.Context(), "URL")
	must(t, err)
	if !vars[0].Secret || !strings.HasPrefix(vars[0].Value, "postgresql://postgres:") {
		t.Fatalf("URL %s, secret %v", vars[0].Value, vars[0].Secret)
	}
	conn, err := pgx.Connect(t.Context(), vars[0].Value)
	if err != nil {
		return err
	}
	return conn.Close(t.Context())
}

func TestListenOnTCP(t *testing.T) {
	c := branch(t, options(t))
	c.branch.SecretFile = filepath.Join(t.TempDir(), "password")
	must(t, c.Init(t.Context(), engine.SlotA))
	info, err := c.EnableTCP(t.Context(), 0)
	must(t, err)
	if stat, err := os.Stat(info.PasswordFile); err != nil || stat.Mode().Perm() != 0o600 {
		t.Fatalf("%s: %v, %v", info.PasswordFile, stat, err)
	}
	must(t, c.Start(t.Context(), engine.SlotA))
	must(t, login(t, c))

	// Without the password, or with another one, nobody gets in.
	for _, url := range []string{"postgres://postgres@%s:%d/app", "postgres://postgres:other@%s:%d/app"} {
		if _, err := pgx.Connect(t.Context(), fmt.Sprintf(url, info.Host, info.Port)); err == nil {
			t.Errorf("%s is let in", url)
		}
	}

	// A state with another password, as old checkpoints have it, gets ours.
	sql(t, c, "ALTER ROLE postgres PASSWORD 'other'")
	must(t, c.Stop(t.Context()))
	again, err := c.EnableTCP(t.Context(), 0)
	must(t, err)
	if *again != *info {
		t.Errorf("the address is %+v, was %+v", again, info)
	}

	// The port is somebody else's.
	listener, err := net.Listen("tcp", net.JoinHostPort(info.Host, strconv.Itoa(info.Port)))
	must(t, err)
	err = c.Start(t.Context(), engine.SlotA)
	if fault.KindOf(err) != fault.Busy || !strings.Contains(fault.HintOf(err), "--port") {
		t.Errorf("start with a port that is taken: %v", err)
	}
	if items := fault.ItemsOf(err); len(items) != 1 || !strings.HasPrefix(items[0], fmt.Sprint(os.Getpid())+" ") {
		t.Errorf("who has the port: %q", items)
	}
	wantState(t, c, engine.SlotA, engine.AtRest)
	must(t, listener.Close())
	must(t, c.Start(t.Context(), engine.SlotA))
	must(t, login(t, c))
	must(t, c.Stop(t.Context()))

	must(t, c.DisableTCP(context.Background()))
	must(t, c.Start(t.Context(), engine.SlotA))
	if conn, err := net.Dial("tcp", net.JoinHostPort(info.Host, strconv.Itoa(info.Port))); err == nil {
		_ = conn.Close()
		t.Error("the server still listens")
	}
	if vars, err := c.Env(t.Context(), "URL"); err != nil || !strings.Contains(vars[0].Value, "host=") {
		t.Errorf("URL %v, %v", vars, err)
	}
}
