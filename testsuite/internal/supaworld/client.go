package supaworld

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	callTimeout  = 2 * time.Minute // a service is started by its first request
	maxReplySize = 256 << 20
)

// Client asks a stack through its gateway, as an app does. The zero value of
// Token is nobody: requests are those of the key.
type Client struct {
	URL   string // of the gateway
	Key   string // publishable, anon, secret or service-role
	Token string // of a user who logged in
}

// Refused is an answer that is no success.
type Refused struct {
	Status int
	Text   string
}

// Error tells status and answer.
func (r *Refused) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Text) }

// IsRefused reports that the stack answered with one of these statuses.
func IsRefused(err error, statuses ...int) bool {
	var r *Refused
	if !errors.As(err, &r) {
		return false
	}
	for _, s := range statuses {
		if r.Status == s {
			return true
		}
	}
	return len(statuses) == 0
}

// Call makes one request and gives the answer's body and header.
func (c Client) Call(method, path string, header http.Header, body []byte) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("apikey", c.Key)
	r.Header.Set("Authorization", "Bearer "+c.Key)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReplySize))
	if err != nil {
		return nil, nil, err
	}
	if reply.StatusCode >= http.StatusBadRequest {
		return nil, nil, fmt.Errorf("%s %s: %w", method, path, &Refused{reply.StatusCode, string(text)})
	}
	return text, reply.Header, nil
}

// json makes a request with a body of JSON and reads the answer into reply,
// unless that is nil.
func (c Client) json(method, path string, body, reply any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	text, _, err := c.Call(method, path, http.Header{"Content-Type": {"application/json"}}, data)
	if err != nil || reply == nil {
		return err
	}
	return json.Unmarshal(text, reply)
}

// session is what a sign-up and a log-in answer.
type session struct {
	Access string `json:"access_token"`
	User   struct {
		ID string `json:"id"`
	} `json:"user"`
}

// SignUp makes a user and gives the user's client and id.
func (c Client) SignUp(email, password string) (Client, string, error) {
	var s session
	err := c.json(http.MethodPost, "/auth/v1/signup", map[string]string{"email": email, "password": password}, &s)
	c.Token = s.Access
	return c, s.User.ID, err
}

// LogIn gives the client of a user. A wrong password or an unknown user is
// refused with status 400.
func (c Client) LogIn(email, password string) (Client, error) {
	var s session
	err := c.json(http.MethodPost, "/auth/v1/token?grant_type=password", map[string]string{"email": email, "password": password}, &s)
	c.Token = s.Access
	return c, err
}

// DeleteUser removes a user; the key is a secret one.
func (c Client) DeleteUser(id string) error {
	_, _, err := c.Call(http.MethodDelete, "/auth/v1/admin/users/"+url.PathEscape(id), nil, nil)
	return err
}

// File is an uploaded file.
type File struct {
	Data         string
	ContentType  string
	CacheControl string
}

// Upload stores a file, in place of an older one if there is one.
func (c Client) Upload(bucket, name string, f File) error {
	_, _, err := c.Call(http.MethodPost, "/storage/v1/object/"+bucket+"/"+name,
		http.Header{"Content-Type": {f.ContentType}, "Cache-Control": {f.CacheControl}, "X-Upsert": {"true"}}, []byte(f.Data))
	return err
}

// Download gives a file as it is served.
func (c Client) Download(bucket, name string) (File, error) {
	data, header, err := c.Call(http.MethodGet, "/storage/v1/object/authenticated/"+bucket+"/"+name, nil, nil)
	return File{string(data), header.Get("Content-Type"), header.Get("Cache-Control")}, err
}

// Insert adds a row to a table.
func (c Client) Insert(table string, row any) error {
	return c.json(http.MethodPost, "/rest/v1/"+table, row, nil)
}

// Select gives the rows of a query, such as "notes?select=body&order=id", as
// JSON.
func (c Client) Select(query string) (string, error) {
	text, _, err := c.Call(http.MethodGet, "/rest/v1/"+query, nil, nil)
	return string(bytes.TrimSpace(text)), err
}
