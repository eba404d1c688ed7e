package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	maxBodyBytes   = 256 << 20 // the tests upload 100 MB
	requestTimeout = 2 * time.Minute
	leaveTimeout   = 2 * time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

// run is the program: a service, or what a service does to the database before
// it starts.
func run(args []string) error {
	if len(args) == 0 {
		return errors.New("the first argument is the name of a service")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	switch service, rest := args[0], args[1:]; {
	case service == "auth" && len(rest) > 0 && rest[0] == "migrate":
		return migrate(ctx, os.Getenv("GOTRUE_DB_DATABASE_URL"), authSchema)
	case service == "auth":
		a, err := newAuth()
		if err != nil {
			return err
		}
		return serve(ctx, "", os.Getenv("GOTRUE_API_PORT"), a.routes())
	case service == "storage-prepare":
		return migrate(ctx, os.Getenv("DATABASE_URL"), storageSchema)
	case service == "storage":
		s, err := newStorage()
		if err != nil {
			return err
		}
		return serve(ctx, "", os.Getenv("PORT"), s.routes())
	case service == "rest":
		r, err := newREST()
		if err != nil {
			return err
		}
		return serve(ctx, os.Getenv("PGRST_ADMIN_SERVER_PORT"), os.Getenv("PGRST_SERVER_PORT"), r.routes())
	case service == "nothing":
		return nil
	default:
		return serve(ctx, "", healthyPort(rest), healthy())
	}
}

// healthyPort finds the port of a service that is only healthy: each has a
// variable of its own for it, or an argument.
func healthyPort(args []string) string {
	for _, name := range []string{"PORT", "MP_UI_PORT", "PG_META_PORT", "IMGPROXY_PORT"} {
		if port := os.Getenv(name); port != "" {
			return port
		}
	}
	for _, a := range args {
		if port, ok := strings.CutPrefix(a, "--port="); ok {
			return port
		}
	}
	return ""
}

// healthy answers everything with 200.
func healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}

// serve answers on 127.0.0.1 until ctx ends; on the admin port, if there is
// one, everything is well.
func serve(ctx context.Context, adminPort, port string, h http.Handler) error {
	if port == "" {
		return errors.New("nothing says the port")
	}
	servers := map[string]http.Handler{port: h}
	if adminPort != "" {
		servers[adminPort] = healthy()
	}
	failed := make(chan error, len(servers))
	for p, handler := range servers {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", p))
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.MaxBytesHandler(handler, maxBodyBytes), ReadHeaderTimeout: requestTimeout}
		go func() { failed <- s.Serve(l) }()
		defer func() {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
			defer cancel()
			_ = s.Shutdown(end)
		}()
	}
	// What the CLI waits for of Realtime and of the pooler.
	fmt.Printf("Running RealtimeWeb.Endpoint at :%[1]s (http)\nRunning SupavisorWeb.Endpoint at :%[1]s (http)\n", port)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// answer sends v as JSON.
func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// refusal is an error with the HTTP status that it answers, and the short name
// that clients look at.
type refusal struct {
	Code int
	Name string
	Text string
}

// Error is the text.
func (r *refusal) Error() string { return r.Text }

// handle makes a handler of a function that gives what to answer. Errors are
// answered in all spellings that the services' clients read.
func handle(f func(ctx context.Context, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		v, err := f(ctx, r)
		var no *refusal
		var pg *pgconn.PgError
		switch {
		case err == nil && v == nil:
			w.WriteHeader(http.StatusNoContent)
		case err == nil && r.Method == http.MethodPost && r.Header.Get("Prefer") != "":
			answer(w, http.StatusCreated, v)
		case err == nil:
			answer(w, http.StatusOK, v)
		case errors.As(err, &no):
			complain(w, no.Code, no.Name, no.Text)
		case errors.As(err, &pg) && pg.Code == "42501":
			complain(w, http.StatusForbidden, pg.Code, pg.Message)
		case errors.As(err, &pg) && pg.Code == "23505":
			complain(w, http.StatusConflict, pg.Code, pg.Message)
		case errors.As(err, &pg):
			complain(w, http.StatusBadRequest, pg.Code, pg.Message)
		default:
			complain(w, http.StatusInternalServerError, "unexpected", err.Error())
		}
	}
}

// complain answers an error.
func complain(w http.ResponseWriter, code int, name, text string) {
	answer(w, code, map[string]any{"code": name, "error_code": name, "error": name, "statusCode": strconv.Itoa(code), "message": text, "msg": text})
}

// decode reads the request's JSON.
func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return &refusal{http.StatusBadRequest, "bad_json", err.Error()}
	}
	return nil
}

// withDB opens a connection for f.
func withDB(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return f(conn)
}

// asRole runs f in a transaction with the rights of the claims' role.
func asRole(ctx context.Context, url string, c claims, f func(pgx.Tx) error) error {
	role := c.role()
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return withDB(ctx, url, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)`, role, string(text)); err != nil {
				return err
			}
			return f(tx)
		})
	})
}

// migrate runs statements that may have been run before, as one transaction.
func migrate(ctx context.Context, url, statements string) error {
	return withDB(ctx, url, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, statements)
			return err
		})
	})
}

// bearer is the token of a request, or "".
func bearer(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}
