package main

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// storageSchema is what the service keeps, under the names of the real one.
const storageSchema = `
CREATE TABLE IF NOT EXISTS storage.buckets (
	id text PRIMARY KEY, name text NOT NULL UNIQUE, owner uuid, public boolean DEFAULT false, file_size_limit bigint, allowed_mime_types text[],
	created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS storage.objects (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(), bucket_id text REFERENCES storage.buckets, name text, owner uuid, version text, metadata jsonb,
	created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), UNIQUE (bucket_id, name));
CREATE TABLE IF NOT EXISTS storage.migrations (id integer PRIMARY KEY, name varchar(100) UNIQUE, hash varchar(40), executed_at timestamp DEFAULT now());
ALTER TABLE storage.buckets ENABLE ROW LEVEL SECURITY;
ALTER TABLE storage.objects ENABLE ROW LEVEL SECURITY;
CREATE OR REPLACE FUNCTION storage.foldername(name text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT (string_to_array(name, '/'))[1:array_length(string_to_array(name, '/'), 1) - 1] $$;
CREATE OR REPLACE FUNCTION storage.filename(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT (string_to_array(name, '/'))[array_length(string_to_array(name, '/'), 1)] $$;
GRANT ALL ON ALL TABLES IN SCHEMA storage TO postgres, anon, authenticated, service_role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA storage TO PUBLIC;
`

// The extended attributes of an object's file.
const (
	attrType  = "supabase.content-type"
	attrCache = "supabase.cache-control"
	attrETag  = "supabase.etag"
)

// maxAttrBytes is the longest attribute that is read.
const maxAttrBytes = 1024

// attrName is an attribute's name on this system.
func attrName(name string) string {
	if runtime.GOOS == "darwin" {
		return "com.apple.metadata." + name
	}
	return "user." + name
}

// storage is the service of uploaded files.
type storage struct {
	url  string
	dir  string // of the tenant
	keys *keys
}

func newStorage() (*storage, error) {
	k, err := newKeys(os.Getenv("AUTH_JWT_SECRET"), os.Getenv("JWT_JWKS"))
	dir := filepath.Join(os.Getenv("FILE_STORAGE_BACKEND_PATH"), os.Getenv("GLOBAL_S3_BUCKET"), os.Getenv("TENANT_ID"))
	return &storage{url: os.Getenv("DATABASE_URL"), dir: dir, keys: k}, err
}

func (s *storage) routes() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /status", healthy())
	m.HandleFunc("GET /bucket", handle(s.buckets))
	m.HandleFunc("GET /bucket/{bucket}", handle(s.bucket))
	m.HandleFunc("POST /bucket", handle(s.addBucket))
	m.HandleFunc("PUT /bucket/{bucket}", handle(func(context.Context, *http.Request) (any, error) {
		return map[string]string{"message": "Successfully updated"}, nil
	}))
	m.HandleFunc("POST /object/list/{bucket}", handle(s.list))
	m.HandleFunc("POST /object/{bucket}/{name...}", handle(s.upload))
	m.HandleFunc("PUT /object/{bucket}/{name...}", handle(s.upload))
	m.HandleFunc("DELETE /object/{bucket}", handle(s.remove))
	m.HandleFunc("GET /object/public/{bucket}/{name...}", s.download(true))
	m.HandleFunc("GET /object/authenticated/{bucket}/{name...}", s.download(false))
	m.HandleFunc("GET /object/{bucket}/{name...}", s.download(false))
	return m
}

// as runs f with the rights of the request's token.
func (s *storage) as(ctx context.Context, r *http.Request, f func(pgx.Tx) error) error {
	c, err := s.keys.verify(bearer(r))
	if err != nil {
		return err
	}
	return asRole(ctx, s.url, c, f)
}

// bucketRow is what clients see of a bucket.
type bucketRow struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Public  bool      `json:"public"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

const bucketColumns = `id, name, public, created_at, updated_at`

func (s *storage) buckets(ctx context.Context, r *http.Request) (any, error) {
	list := []bucketRow{}
	err := s.as(ctx, r, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+bucketColumns+` FROM storage.buckets ORDER BY id`)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[bucketRow])
		return err
	})
	return list, err
}

func (s *storage) bucket(ctx context.Context, r *http.Request) (any, error) {
	var b bucketRow
	err := s.as(ctx, r, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT `+bucketColumns+` FROM storage.buckets WHERE id = $1`, r.PathValue("bucket")).
			Scan(&b.ID, &b.Name, &b.Public, &b.Created, &b.Updated)
	})
	return b, missing(err, "Bucket not found")
}

// missing makes a row that is not there an answer that clients know.
func missing(err error, text string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return &refusal{http.StatusNotFound, "not_found", text}
	}
	return err
}

func (s *storage) addBucket(ctx context.Context, r *http.Request) (any, error) {
	var b bucketRow
	if err := decode(r, &b); err != nil {
		return nil, err
	}
	if b.ID == "" {
		b.ID = b.Name
	}
	err := s.as(ctx, r, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO storage.buckets (id, name, public) VALUES ($1, $2, $3)`, b.ID, b.Name, b.Public)
		return err
	})
	return map[string]string{"name": b.ID}, err
}

// content finds the bytes of an upload, their type and how long they may be
// kept: supabase-js sends a form or the plain bytes.
func content(r *http.Request) (data []byte, kind, cache string, err error) {
	kind, cache = r.Header.Get("Content-Type"), r.Header.Get("Cache-Control")
	if media, _, _ := mime.ParseMediaType(kind); media != "multipart/form-data" {
		data, err = io.ReadAll(r.Body)
		return data, kind, cache, err
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, "", "", err
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return data, kind, cache, nil
		}
		if err != nil {
			return nil, "", "", err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, "", "", err
		}
		switch part.FormName() {
		case "cacheControl":
			cache = "max-age=" + string(text)
		case "metadata":
		default:
			data, kind = text, part.Header.Get("Content-Type")
		}
	}
}

// upload keeps a new version of an object: its file first, which nothing names
// yet, then the row; at last the file of the version before goes.
func (s *storage) upload(ctx context.Context, r *http.Request) (any, error) {
	bucket, name, version := r.PathValue("bucket"), r.PathValue("name"), rand.Text()
	data, kind, cache, err := content(r)
	if err != nil {
		return nil, err
	}
	if cache == "" {
		cache = "no-cache"
	}
	etag := fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(data)))
	meta := map[string]any{"eTag": etag, "size": len(data), "mimetype": kind, "cacheControl": cache, "contentLength": len(data), "httpStatusCode": 200}
	file := s.file(bucket, name, version)
	if err := s.keep(file, data, map[string]string{attrType: kind, attrCache: cache, attrETag: etag}); err != nil {
		return nil, err
	}
	conflict := `DO NOTHING`
	if r.Method == http.MethodPut || r.Header.Get("X-Upsert") == "true" {
		conflict = `DO UPDATE SET version = excluded.version, metadata = excluded.metadata, updated_at = now()`
	}
	var id, old string
	err = s.as(ctx, r, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT version FROM storage.objects WHERE bucket_id = $1 AND name = $2 FOR UPDATE`, bucket, name).Scan(&old)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO storage.objects (bucket_id, name, owner, version, metadata) VALUES ($1, $2, auth.uid(), $3, $4)
			ON CONFLICT (bucket_id, name) `+conflict+` RETURNING id::text`, bucket, name, version, meta).Scan(&id)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = &refusal{http.StatusConflict, "Duplicate", "The resource already exists"}
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(file))
	}
	if old != "" {
		err = os.Remove(s.file(bucket, name, old))
	}
	return map[string]string{"Id": id, "Key": bucket + "/" + name}, err
}

// file is where a version of an object is.
func (s *storage) file(bucket, name, version string) string {
	return filepath.Join(s.dir, bucket, filepath.FromSlash(filepath.Clean("/"+name)), version)
}

// keep writes a file with its attributes, flushed.
func (s *storage) keep(file string, data []byte, attrs map[string]string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	for name, value := range attrs {
		err = errors.Join(err, unix.Setxattr(file, attrName(name), []byte(value), 0))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// download sends an object as its file and the file's attributes say.
func (s *storage) download(public bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		var version string
		find := func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SELECT version FROM storage.objects WHERE bucket_id = $1 AND name = $2
				AND (NOT $3 OR EXISTS (SELECT FROM storage.buckets b WHERE b.id = bucket_id AND public))`, r.PathValue("bucket"), r.PathValue("name"), public).Scan(&version)
		}
		var err error
		if public {
			err = asRole(ctx, s.url, claims{"role": "service_role"}, find)
		} else {
			err = s.as(ctx, r, find)
		}
		if err != nil {
			handle(func(context.Context, *http.Request) (any, error) { return nil, missing(err, "Object not found") })(w, r)
			return
		}
		file := s.file(r.PathValue("bucket"), r.PathValue("name"), version)
		for attr, header := range map[string]string{attrType: "Content-Type", attrCache: "Cache-Control", attrETag: "ETag"} {
			value := make([]byte, maxAttrBytes)
			n, err := unix.Getxattr(file, attrName(attr), value)
			if err != nil {
				complain(w, http.StatusInternalServerError, "internal", fmt.Sprintf("read attribute %s: %v", attr, err))
				return
			}
			w.Header().Set(header, string(value[:n]))
		}
		f, err := os.Open(file)
		if err != nil {
			complain(w, http.StatusInternalServerError, "internal", err.Error())
			return
		}
		defer f.Close()
		_, _ = io.Copy(w, f)
	}
}

// object is what clients see of an object.
type object struct {
	Name     string          `json:"name"`
	ID       string          `json:"id"`
	Updated  time.Time       `json:"updated_at"`
	Created  time.Time       `json:"created_at"`
	Metadata json.RawMessage `json:"metadata"`
}

func (s *storage) list(ctx context.Context, r *http.Request) (any, error) {
	var ask struct {
		Prefix string `json:"prefix"`
	}
	if err := decode(r, &ask); err != nil {
		return nil, err
	}
	if ask.Prefix != "" && !strings.HasSuffix(ask.Prefix, "/") {
		ask.Prefix += "/"
	}
	list := []object{}
	err := s.as(ctx, r, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT substr(name, length($2) + 1), id::text, updated_at, created_at, metadata FROM storage.objects
			WHERE bucket_id = $1 AND starts_with(name, $2) ORDER BY name`, r.PathValue("bucket"), ask.Prefix)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[object])
		return err
	})
	return list, err
}

// remove deletes objects: their rows, then their files.
func (s *storage) remove(ctx context.Context, r *http.Request) (any, error) {
	var ask struct {
		Prefixes []string `json:"prefixes"`
	}
	if err := decode(r, &ask); err != nil {
		return nil, err
	}
	type gone struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	list := []gone{}
	err := s.as(ctx, r, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `DELETE FROM storage.objects WHERE bucket_id = $1 AND name = ANY($2) RETURNING name, version`, r.PathValue("bucket"), ask.Prefixes)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[gone])
		return err
	})
	for _, g := range list {
		err = errors.Join(err, os.Remove(s.file(r.PathValue("bucket"), g.Name, g.Version)))
	}
	return list, err
}
