// Package lspclient is a scripted editor: it starts `forklift lsp`, speaks the
// Language Server Protocol with it, and keeps every message both ways, so that
// a script can wait for what is to come and show all of it when it does not.
//
// Like package harness it calls nothing of the product: what is read here is
// what an editor would read.
package lspclient

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxLogged bounds a message in Log.
const maxLogged = 2000

// Message is a message of the server.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Err    *Error          `json:"error"`
}

// Error is a request's failure.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Kind  string   `json:"kind"`
		Hint  string   `json:"hint"`
		Items []string `json:"items"`
	} `json:"data"`
}

// Error is the message with its code and its items.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d, %s) %q", e.Message, e.Code, e.Data.Kind, e.Data.Items)
}

// Client is an editor. It is safe for concurrent use.
type Client struct {
	// Patience is how long Call and Until wait; set by Start.
	Patience time.Duration

	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr strings.Builder
	read   chan struct{} // closed when the server's output ended

	mu   sync.Mutex
	id   int
	seen []Message
	log  []string
	more chan struct{} // closed when seen grows
}

// Start starts the command, which is usually a `forklift lsp`.
func Start(cmd *exec.Cmd, patience time.Duration) (*Client, error) {
	c := &Client{Patience: patience, cmd: cmd, read: make(chan struct{}), more: make(chan struct{})}
	cmd.Stderr = &c.stderr
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go c.receive(bufio.NewReader(out))
	return c, nil
}

// receive reads messages until the output ends, and answers what the server
// asks as an editor that agrees.
func (c *Client) receive(r *bufio.Reader) {
	defer close(c.read)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		size, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m Message
		if err := json.Unmarshal(body, &m); err != nil {
			m.Method = "unreadable: " + err.Error()
		}
		c.mu.Lock()
		c.note("<-", body)
		c.seen = append(c.seen, m)
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
		if m.Method != "" && len(m.ID) > 0 {
			_ = c.send(map[string]any{"id": m.ID, "result": nil})
		}
	}
}

// note adds a message to the log; mu is held.
func (c *Client) note(way string, body []byte) {
	c.log = append(c.log, fmt.Sprintf("%s %s %s", time.Now().Format("05.000"), way, body[:min(len(body), maxLogged)]))
}

func (c *Client) send(m map[string]any) error {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("->", body)
	_, err = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	return c.send(map[string]any{"method": method, "params": params})
}

// Request sends a request and gives its id, for Answer.
func (c *Client) Request(method string, params any) (int, error) {
	c.mu.Lock()
	c.id++
	id := c.id
	c.mu.Unlock()
	return id, c.send(map[string]any{"id": id, "method": method, "params": params})
}

// Answer waits for the answer to a request and decodes its result; a refusal
// is an *Error.
func (c *Client) Answer(id int, result any) error {
	m, err := c.Until(0, fmt.Sprintf("an answer to request %d", id), func(m Message) bool { return m.Method == "" && string(m.ID) == strconv.Itoa(id) })
	switch {
	case err != nil:
		return err
	case m.Err != nil:
		return m.Err
	case result == nil:
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// Call is Request and Answer.
func (c *Client) Call(method string, params, result any) error {
	id, err := c.Request(method, params)
	if err != nil {
		return err
	}
	return c.Answer(id, result)
}

// Command runs a verb with the one argument of its command.
func (c *Client) Command(verb string, arg map[string]any, result any) error {
	return c.Call("workspace/executeCommand", Command(verb, arg), result)
}

// Command are the params of workspace/executeCommand for a verb.
func Command(verb string, arg map[string]any) map[string]any {
	return map[string]any{"command": "forklift.server." + verb, "arguments": []any{arg}}
}

// Initialize says initialize with folders and waits for the answer.
func (c *Client) Initialize(dirs ...string) error {
	folders := []map[string]string{}
	for _, dir := range dirs {
		folders = append(folders, map[string]string{"uri": URI(dir), "name": "folder"})
	}
	err := c.Call("initialize", map[string]any{"processId": nil, "rootUri": nil, "workspaceFolders": folders, "clientInfo": map[string]string{"name": "Script"},
		"capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}}}, nil)
	if err != nil {
		return err
	}
	return c.Notify("initialized", map[string]any{})
}

// URI is the file: URI of an absolute path.
func URI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// Mark is the number of messages that came so far, for Until.
func (c *Client) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// Until waits for a message that want picks, among those since a mark and
// those to come.
func (c *Client) Until(mark int, what string, want func(Message) bool) (Message, error) {
	deadline := time.NewTimer(c.Patience)
	defer deadline.Stop()
	for at := mark; ; {
		c.mu.Lock()
		seen, more := c.seen, c.more
		c.mu.Unlock()
		for ; at < len(seen); at++ {
			if want(seen[at]) {
				return seen[at], nil
			}
		}
		select {
		case <-more:
		case <-c.read:
			return Message{}, fmt.Errorf("the server ended before %s", what)
		case <-deadline.C:
			return Message{}, fmt.Errorf("no %s within %v", what, c.Patience)
		}
	}
}

// Log is everything that was said, and what the server wrote to stderr once
// it has ended.
func (c *Client) Log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.log, "\n")
	select {
	case <-c.read:
		return text + "\nstderr: " + c.stderr.String()
	default:
		return text
	}
}

// Kill ends the editor and its front at once, as a crash does.
func (c *Client) Kill() {
	_ = c.cmd.Process.Kill()
	_ = c.in.Close()
	<-c.read
	_ = c.cmd.Wait()
}

// Close says shutdown and exit and waits for the end.
func (c *Client) Close() error {
	err := c.Call("shutdown", nil, nil)
	err = errors.Join(err, c.Notify("exit", nil), c.in.Close())
	select {
	case <-c.read:
	case <-time.After(c.Patience):
		c.Kill()
		return fmt.Errorf("the server did not end within %v", c.Patience)
	}
	return errors.Join(err, c.cmd.Wait())
}
