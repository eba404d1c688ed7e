package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forklift/storage/fault"
)

const (
	// wireFormat numbers the handshake itself and is in the socket's name. It
	// stays for as long as old and new can read each other's line.
	wireFormat = 1
	// Proto numbers what follows the handshake. A front with a higher number
	// has the older daemon make room.
	Proto = 1
	// minProto is the oldest front that this daemon serves.
	minProto = 1
	// maxLine bounds a line of the handshake; an environment may be large.
	maxLine = 2 << 20
	// handshakeTimeout bounds the handshake, each way.
	handshakeTimeout = 5 * time.Second
)

// The roles of a client.
const (
	RoleEditor  = "lsp"     // LSP frames follow
	RoleControl = "control" // the answer is one line
)

// Hello is the first line of a client.
type Hello struct {
	Proto   int      `json:"proto"`
	Version string   `json:"version"` // of the program
	Role    string   `json:"role"`
	Ask     string   `json:"ask,omitempty"` // of a control client: "status" or "stop"
	PID     int      `json:"pid"`
	Cwd     string   `json:"cwd,omitempty"`
	Env     []string `json:"env,omitempty"` // NAME=value, as the editor gave it to the front
}

// Welcome is the daemon's answer.
type Welcome struct {
	Proto   int       `json:"proto"`
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Refused *Refusal  `json:"refused,omitempty"`
	Status  *Status   `json:"status,omitempty"` // to a control client
}

// Refusal says why a client is not served.
type Refusal struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// The reasons of a Refusal.
const (
	refusedLeaving = "leaving" // the daemon ends; come again
	refusedOld     = "old"     // the client is too old
	refusedFull    = "full"    // too many clients
	refusedBad     = "bad"     // the hello makes no sense
)

// err is the refusal as an error of the client.
func (r *Refusal) err(socket string) error {
	kind := fault.Unsupported
	if r.Reason == refusedLeaving || r.Reason == refusedFull {
		kind = fault.Busy
	}
	return &fault.Error{Op: "reach the daemon", Path: socket, Kind: kind, Err: errors.New(r.Message), Hint: r.Hint}
}

// judge decides about a client's hello: a refusal, and whether the daemon is
// to make room for a newer one.
func judge(hello Hello, version string) (refusal *Refusal, newer bool) {
	switch {
	case hello.Role != RoleEditor && hello.Role != RoleControl:
		return &Refusal{Reason: refusedBad, Message: fmt.Sprintf("the daemon does not know the role %q", hello.Role)}, false
	case hello.Role == RoleControl:
		return nil, false
	case hello.Proto < minProto:
		return &Refusal{Reason: refusedOld,
			Message: fmt.Sprintf("this forklift (%s) is older than the daemon (%s) serves", hello.Version, version),
			Hint:    "Restart the editor, so that it starts the forklift that is installed now; or run `forklift daemon stop` with the newer forklift."}, false
	}
	return nil, hello.Proto > Proto || (hello.Proto == Proto && newerVersion(hello.Version, version))
}

// newerVersion reports that a is a later release than b. Versions are
// MAJOR.MINOR.PATCH, with -something before the release; others have no order.
func newerVersion(a, b string) bool {
	an, apre, aok := parseVersion(a)
	bn, bpre, bok := parseVersion(b)
	if !aok || !bok {
		return false
	}
	for i := range an {
		if an[i] != bn[i] {
			return an[i] > bn[i]
		}
	}
	return bpre && !apre
}

func parseVersion(text string) (numbers [3]int, pre, ok bool) {
	core, _, pre := strings.Cut(strings.TrimPrefix(text, "v"), "-")
	parts := strings.Split(core, ".")
	if len(parts) != len(numbers) {
		return numbers, pre, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return numbers, pre, false
		}
		numbers[i] = n
	}
	return numbers, pre, true
}

// lineConn is a connection whose first line was read through a buffer.
type lineConn struct {
	*net.UnixConn
	r *bufio.Reader
}

func newLineConn(c *net.UnixConn) *lineConn { return &lineConn{UnixConn: c, r: bufio.NewReader(c)} }

// Read reads what is behind the line.
func (c *lineConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// readLine reads one line of JSON into v.
func (c *lineConn) readLine(v any) error {
	var line []byte
	for {
		part, err := c.r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(bytes.TrimSpace(line), v)
	}
}

// writeLine writes v as one line of JSON.
func (c *lineConn) writeLine(v any) error {
	data, err := json.Marshal(v)
	if err == nil && len(data) >= maxLine {
		err = fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	if err != nil {
		return err
	}
	_, err = c.Write(append(data, '\n'))
	return err
}

// checkPeer proves that the other end is a process of the same user.
func checkPeer(c syscall.Conn, uid int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	peer := -1
	var asked error
	if err := raw.Control(func(fd uintptr) { peer, asked = peerUser(int(fd)) }); err != nil {
		return err
	}
	if asked != nil {
		return fmt.Errorf("ask who is at the other end: %w", asked)
	}
	if peer != uid {
		return fmt.Errorf("the other end is a process of user %d, not of %d", peer, uid)
	}
	return nil
}
