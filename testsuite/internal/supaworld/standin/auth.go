package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// tokenLife is how long an access token is good.
const tokenLife = time.Hour

// authSchema is what the service keeps, under the names of the real one.
const authSchema = `
CREATE TABLE IF NOT EXISTS auth.users (
	instance_id uuid, id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aud varchar(255) DEFAULT 'authenticated', role varchar(255) DEFAULT 'authenticated',
	email varchar(255) UNIQUE, encrypted_password varchar(255), email_confirmed_at timestamptz, last_sign_in_at timestamptz,
	raw_app_meta_data jsonb DEFAULT '{"provider": "email", "providers": ["email"]}', raw_user_meta_data jsonb DEFAULT '{}',
	created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS auth.refresh_tokens (
	id bigserial PRIMARY KEY, token varchar(255) UNIQUE, user_id uuid REFERENCES auth.users ON DELETE CASCADE, revoked boolean DEFAULT false, created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS auth.schema_migrations (version varchar(255) PRIMARY KEY);
INSERT INTO auth.schema_migrations VALUES ('standin') ON CONFLICT DO NOTHING;
CREATE OR REPLACE FUNCTION auth.jwt() RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb $$;
CREATE OR REPLACE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$ SELECT (auth.jwt() ->> 'sub')::uuid $$;
CREATE OR REPLACE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS $$ SELECT auth.jwt() ->> 'role' $$;
CREATE OR REPLACE FUNCTION auth.email() RETURNS text LANGUAGE sql STABLE AS $$ SELECT auth.jwt() ->> 'email' $$;
GRANT ALL ON ALL TABLES IN SCHEMA auth TO postgres;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA auth TO PUBLIC;
`

// auth is the service of users and log-ins.
type auth struct {
	url    string
	issuer string
	keys   *keys
}

func newAuth() (*auth, error) {
	k, err := newKeys(os.Getenv("GOTRUE_JWT_SECRET"), os.Getenv("GOTRUE_JWT_KEYS"))
	return &auth{url: os.Getenv("GOTRUE_DB_DATABASE_URL"), issuer: os.Getenv("GOTRUE_JWT_ISSUER"), keys: k}, err
}

func (a *auth) routes() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /health", healthy())
	m.HandleFunc("GET /.well-known/jwks.json", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, a.keys.jwks()) })
	m.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"external": map[string]bool{"email": true}, "mailer_autoconfirm": true})
	})
	m.HandleFunc("POST /signup", handle(a.signUp))
	m.HandleFunc("POST /token", handle(a.token))
	m.HandleFunc("POST /logout", handle(func(context.Context, *http.Request) (any, error) { return nil, nil }))
	m.HandleFunc("GET /user", handle(a.self))
	m.HandleFunc("GET /admin/users", handle(a.admin(a.list)))
	m.HandleFunc("POST /admin/users", handle(a.admin(a.create)))
	m.HandleFunc("DELETE /admin/users/{id}", handle(a.admin(a.remove)))
	return m
}

// user is what clients see of a user.
type user struct {
	ID       string          `json:"id"`
	Aud      string          `json:"aud"`
	Role     string          `json:"role"`
	Email    string          `json:"email"`
	App      json.RawMessage `json:"app_metadata"`
	Own      json.RawMessage `json:"user_metadata"`
	Created  time.Time       `json:"created_at"`
	Updated  time.Time       `json:"updated_at"`
	SignedIn *time.Time      `json:"last_sign_in_at"`
}

// userColumns are read into fields.
const userColumns = `id::text, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at, last_sign_in_at`

func (u *user) fields() []any {
	return []any{&u.ID, &u.Aud, &u.Role, &u.Email, &u.App, &u.Own, &u.Created, &u.Updated, &u.SignedIn}
}

// credentials are the body of a sign-up or a log-in.
type credentials struct {
	Email    string         `json:"email"`
	Password string         `json:"password"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"user_metadata"`
	Refresh  string         `json:"refresh_token"`
}

// insert makes a user, whose password is kept as a bcrypt hash.
func (a *auth) insert(ctx context.Context, c credentials) (user, error) {
	var u user
	if len(c.Password) < 6 {
		return u, &refusal{http.StatusUnprocessableEntity, "weak_password", "Password should be at least 6 characters."}
	}
	own := c.Data
	if own == nil {
		own = c.Metadata
	}
	if own == nil {
		own = map[string]any{}
	}
	err := withDB(ctx, a.url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `INSERT INTO auth.users (email, encrypted_password, email_confirmed_at, raw_user_meta_data)
			VALUES (lower($1), extensions.crypt($2, extensions.gen_salt('bf')), now(), $3)
			ON CONFLICT (email) DO NOTHING RETURNING `+userColumns, c.Email, c.Password, own).Scan(u.fields()...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = &refusal{http.StatusUnprocessableEntity, "user_already_exists", "User already registered"}
	}
	return u, err
}

// session logs a user in.
func (a *auth) session(ctx context.Context, u user) (any, error) {
	now := time.Now()
	access, err := a.keys.sign(claims{"sub": u.ID, "aud": u.Aud, "role": u.Role, "email": u.Email, "iss": a.issuer,
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "app_metadata": u.App, "user_metadata": u.Own, "aal": "aal1", "session_id": u.ID})
	if err != nil {
		return nil, err
	}
	refresh := rand.Text()
	err = withDB(ctx, a.url, func(conn *pgx.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE auth.users SET last_sign_in_at = now() WHERE id = $1::uuid`, u.ID)
		batch.Queue(`INSERT INTO auth.refresh_tokens (token, user_id) VALUES ($1, $2::uuid)`, refresh, u.ID)
		return conn.SendBatch(ctx, batch).Close()
	})
	return map[string]any{"access_token": access, "token_type": "bearer", "expires_in": int(tokenLife.Seconds()),
		"expires_at": now.Add(tokenLife).Unix(), "refresh_token": refresh, "user": u}, err
}

func (a *auth) signUp(ctx context.Context, r *http.Request) (any, error) {
	var c credentials
	if err := decode(r, &c); err != nil {
		return nil, err
	}
	u, err := a.insert(ctx, c)
	if err != nil {
		return nil, err
	}
	return a.session(ctx, u)
}

// token logs in by password or by refresh token.
func (a *auth) token(ctx context.Context, r *http.Request) (any, error) {
	var c credentials
	if err := decode(r, &c); err != nil {
		return nil, err
	}
	query, args := `SELECT `+userColumns+` FROM auth.users WHERE email = lower($1) AND encrypted_password = extensions.crypt($2, encrypted_password)`,
		[]any{c.Email, c.Password}
	no := &refusal{http.StatusBadRequest, "invalid_credentials", "Invalid login credentials"}
	if r.URL.Query().Get("grant_type") == "refresh_token" {
		query, args = `SELECT `+userColumns+` FROM auth.users WHERE id = (SELECT user_id FROM auth.refresh_tokens WHERE token = $1 AND NOT revoked)`, []any{c.Refresh}
		no = &refusal{http.StatusBadRequest, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found"}
	}
	var u user
	err := withDB(ctx, a.url, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(u.fields()...) })
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, no
	}
	if err != nil {
		return nil, err
	}
	return a.session(ctx, u)
}

// self tells the token's own user.
func (a *auth) self(ctx context.Context, r *http.Request) (any, error) {
	c, err := a.keys.verify(bearer(r))
	if err != nil {
		return nil, err
	}
	var u user
	err = withDB(ctx, a.url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT `+userColumns+` FROM auth.users WHERE id::text = $1`, c.text("sub")).Scan(u.fields()...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &refusal{http.StatusForbidden, "user_not_found", "User from sub claim in JWT does not exist"}
	}
	return u, err
}

// admin lets only the service role in.
func (a *auth) admin(f func(context.Context, *http.Request) (any, error)) func(context.Context, *http.Request) (any, error) {
	return func(ctx context.Context, r *http.Request) (any, error) {
		c, err := a.keys.verify(bearer(r))
		if err != nil {
			return nil, err
		}
		if c.role() != "service_role" {
			return nil, &refusal{http.StatusForbidden, "not_admin", "User not allowed"}
		}
		return f(ctx, r)
	}
}

func (a *auth) list(ctx context.Context, _ *http.Request) (any, error) {
	users := []user{}
	err := withDB(ctx, a.url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT `+userColumns+` FROM auth.users ORDER BY created_at`)
		if err != nil {
			return err
		}
		users, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u user, err error) { return u, row.Scan(u.fields()...) })
		return err
	})
	return map[string]any{"users": users, "aud": "authenticated"}, err
}

func (a *auth) create(ctx context.Context, r *http.Request) (any, error) {
	var c credentials
	if err := decode(r, &c); err != nil {
		return nil, err
	}
	return a.insert(ctx, c)
}

func (a *auth) remove(ctx context.Context, r *http.Request) (any, error) {
	err := withDB(ctx, a.url, func(conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, `DELETE FROM auth.users WHERE id::text = $1`, r.PathValue("id"))
		if err == nil && tag.RowsAffected() == 0 {
			err = &refusal{http.StatusNotFound, "user_not_found", "User not found"}
		}
		return err
	})
	return map[string]any{}, err
}
