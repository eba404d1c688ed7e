package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// rest is the service that answers for tables.
type rest struct {
	url     string
	schemas []string
	keys    *keys
}

func newREST() (*rest, error) {
	k, err := newKeys(os.Getenv("PGRST_JWT_SECRET"))
	return &rest{url: os.Getenv("PGRST_DB_URI"), schemas: strings.Split(os.Getenv("PGRST_DB_SCHEMAS"), ","), keys: k}, err
}

func (s *rest) routes() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /{$}", healthy())
	m.HandleFunc("GET /{table}", handle(s.read))
	m.HandleFunc("POST /{table}", handle(s.insert))
	m.HandleFunc("PATCH /{table}", handle(s.update))
	m.HandleFunc("DELETE /{table}", handle(s.remove))
	return m
}

// operators are the comparisons of a filter, such as id=eq.5.
var operators = map[string]string{"eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "like": "LIKE", "ilike": "ILIKE", "is": "IS"}

// notFilters are the parameters that are no columns.
var notFilters = map[string]bool{"select": true, "order": true, "limit": true, "offset": true, "columns": true, "on_conflict": true}

// table is the quoted name of the request's table.
func (s *rest) table(r *http.Request) string {
	schema := strings.TrimSpace(s.schemas[0])
	for _, header := range []string{"Accept-Profile", "Content-Profile"} {
		if name := r.Header.Get(header); name != "" {
			schema = name
		}
	}
	return pgx.Identifier{schema, r.PathValue("table")}.Sanitize()
}

// columns is the list after SELECT or RETURNING.
func columns(q url.Values) string {
	list := q.Get("select")
	if list == "" || list == "*" {
		return "*"
	}
	var quoted []string
	for name := range strings.SplitSeq(list, ",") {
		quoted = append(quoted, pgx.Identifier{strings.TrimSpace(name)}.Sanitize())
	}
	return strings.Join(quoted, ", ")
}

// where makes a condition of the filters; args are its parameters.
func where(q url.Values) (condition string, args []any, err error) {
	var all []string
	for name, values := range q {
		if notFilters[name] {
			continue
		}
		for _, v := range values {
			op, value, ok := strings.Cut(v, ".")
			column := pgx.Identifier{name}.Sanitize()
			switch {
			case ok && op == "in":
				args = append(args, strings.Split(strings.Trim(value, "()"), ","))
				all = append(all, column+"::text = ANY($"+strconv.Itoa(len(args))+")")
			case ok && op == "is" && (value == "null" || value == "true" || value == "false"):
				all = append(all, column+" IS "+value)
			case ok && operators[op] != "" && op != "is":
				args = append(args, value)
				all = append(all, column+" "+operators[op]+" $"+strconv.Itoa(len(args)))
			default:
				return "", nil, &refusal{http.StatusBadRequest, "PGRST100", "the filter " + name + "=" + v + " is not known"}
			}
		}
	}
	if len(all) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(all, " AND "), args, nil
}

// ask runs a statement with the rights of the request's token and gives its
// rows as one JSON array. A parameter that is a string takes the type of the
// column it is compared with.
func (s *rest) ask(ctx context.Context, r *http.Request, statement string, args []any) (any, error) {
	c, err := s.keys.verify(bearer(r))
	if err != nil {
		return nil, err
	}
	var rows json.RawMessage
	err = asRole(ctx, s.url, c, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `WITH answer AS (`+statement+`) SELECT coalesce(jsonb_agg(answer), '[]')::text FROM answer`, args...).Scan(&rows)
	})
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if r.Header.Get("Accept") == "application/vnd.pgrst.object+json" {
		if err := json.Unmarshal(rows, &list); err != nil {
			return nil, err
		}
		if len(list) != 1 {
			return nil, &refusal{http.StatusNotAcceptable, "PGRST116", "The result contains " + strconv.Itoa(len(list)) + " rows"}
		}
		return list[0], nil
	}
	return rows, nil
}

func (s *rest) read(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	condition, args, err := where(q)
	if err != nil {
		return nil, err
	}
	statement := `SELECT ` + columns(q) + ` FROM ` + s.table(r) + condition
	if order := q.Get("order"); order != "" {
		column, way, _ := strings.Cut(order, ".")
		statement += ` ORDER BY ` + pgx.Identifier{column}.Sanitize()
		if strings.HasPrefix(way, "desc") {
			statement += ` DESC`
		}
	}
	for _, name := range []string{"limit", "offset"} {
		if n, err := strconv.Atoi(q.Get(name)); err == nil {
			statement += " " + name + " " + strconv.Itoa(n)
		}
	}
	return s.ask(ctx, r, statement, args)
}

// insert adds the rows of the body.
func (s *rest) insert(ctx context.Context, r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var rows []map[string]json.RawMessage
	if json.Unmarshal(body, &rows) != nil {
		var one map[string]json.RawMessage
		if err := json.Unmarshal(body, &one); err != nil {
			return nil, &refusal{http.StatusBadRequest, "PGRST102", err.Error()}
		}
		rows = append(rows, one)
	}
	if len(rows) == 0 {
		return []any{}, nil
	}
	var names []string
	for name := range rows[0] {
		names = append(names, pgx.Identifier{name}.Sanitize())
	}
	list := strings.Join(names, ", ")
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	return s.changed(ctx, r, `INSERT INTO `+s.table(r)+` (`+list+`) SELECT `+list+` FROM json_populate_recordset(null::`+s.table(r)+`, $1::json)`, []any{string(text)})
}

// update changes the rows that the filters name.
func (s *rest) update(ctx context.Context, r *http.Request) (any, error) {
	condition, args, err := where(r.URL.Query())
	if err != nil {
		return nil, err
	}
	var row map[string]json.RawMessage
	if err := decode(r, &row); err != nil {
		return nil, err
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, err
	}
	args = append(args, string(text))
	var sets []string
	for name := range row {
		column := pgx.Identifier{name}.Sanitize()
		sets = append(sets, column+` = (SELECT `+column+` FROM json_populate_record(null::`+s.table(r)+`, $`+strconv.Itoa(len(args))+`::json))`)
	}
	return s.changed(ctx, r, `UPDATE `+s.table(r)+` SET `+strings.Join(sets, ", ")+condition, args)
}

// remove deletes the rows that the filters name.
func (s *rest) remove(ctx context.Context, r *http.Request) (any, error) {
	condition, args, err := where(r.URL.Query())
	if err != nil {
		return nil, err
	}
	return s.changed(ctx, r, `DELETE FROM `+s.table(r)+condition, args)
}

// changed runs a change, and gives the rows if the client wants them.
func (s *rest) changed(ctx context.Context, r *http.Request, statement string, args []any) (any, error) {
	rows, err := s.ask(ctx, r, statement+` RETURNING `+columns(r.URL.Query()), args)
	if err != nil || strings.Contains(r.Header.Get("Prefer"), "return=representation") {
		return rows, err
	}
	return nil, nil
}
