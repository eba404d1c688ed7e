package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"forklift/engine"
	"forklift/engine/postgres/internal/proc"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"

	"github.com/jackc/pgx/v5"
)

// tcpRecord says that a branch's servers listen on TCP, too. It is part of
// the branch and not of its state: the port is the same over restores.
type tcpRecord struct {
	Port int `json:"port"` // of loopback
}

// The record's place and format, and the ports that are tried. They are below
// those that systems give to outgoing connections.
const (
	tcpName   = "tcp.json"
	tcpKind   = "postgres-tcp"
	tcpFormat = 1

	loopback  = "127.0.0.1"
	firstPort = 15432
	lastPort  = 16431

	maxPasswordBytes = 256
)

// listens is the branch's TCP port, 0 for none. A record that cannot be read
// is an error: a server without TCP would be one that clients do not find.
func (c *cluster) listens() (int, error) {
	var rec tcpRecord
	err := record.Read(c.opt.FS, c.runFile(tcpName), tcpKind, tcpFormat, &rec)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil && (rec.Port < 1 || rec.Port > 65535) {
		err = &fault.Error{Op: "read port", Path: c.runFile(tcpName), Kind: fault.Corrupt, Err: fmt.Errorf("port %d", rec.Port)}
	}
	return rec.Port, err
}

// port is the port of a server: the TCP one, else the one that only is part
// of the socket's name.
func (c *cluster) port() (string, error) {
	port, err := c.listens()
	if err != nil || port == 0 {
		return serverPort, err
	}
	return strconv.Itoa(port), nil
}

// TCP tells where servers of this branch listen; nil for on the socket only.
func (c *cluster) TCP(context.Context) (*engine.TCPInfo, error) {
	port, err := c.listens()
	if err != nil || port == 0 {
		return nil, err
	}
	return &engine.TCPInfo{Host: loopback, Port: port, PasswordFile: c.branch.SecretFile}, nil
}

// EnableTCP makes servers that are started from now on listen on loopback; 0
// chooses a port that is free now and that no other branch of the store has.
func (c *cluster) EnableTCP(ctx context.Context, port int) (*engine.TCPInfo, error) {
	if port < 0 || port > 65535 {
		return nil, &fault.Error{Op: "choose port", Kind: fault.Usage, Err: fmt.Errorf("%d is not a port", port), Hint: "Ports go from 1 to 65535."}
	}
	if _, err := c.password(); err != nil {
		return nil, err
	}
	old, err := c.listens()
	if err != nil {
		return nil, err
	}
	if port == 0 {
		port = old
	}
	taken, err := c.portsOfOthers()
	if err != nil {
		return nil, err
	}
	if port == 0 {
		for port = firstPort; port < lastPort && (taken[port] != "" || bindable(port) != nil); port++ {
		}
	}
	if taken[port] != "" {
		return nil, &fault.Error{Op: "choose port", Path: strconv.Itoa(port), Kind: fault.Usage, Err: errors.New("the database in " + taken[port] + " has this port"),
			Hint: "Choose another one with --port, or none and let Forklift choose."}
	}
	if port != old {
		if err := c.portFree(port); err != nil {
			return nil, err
		}
		if err := c.ensureRunDir(); err != nil {
			return nil, err
		}
		if err := record.Write(c.opt.FS, c.runFile(tcpName), tcpKind, tcpFormat, tcpRecord{Port: port}); err != nil {
			return nil, err
		}
	}
	return c.TCP(ctx)
}

// DisableTCP makes servers that are started from now on listen on their
// socket only.
func (c *cluster) DisableTCP(context.Context) error {
	if _, err := c.opt.FS.Lstat(c.runFile(tcpName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return durable.Remove(c.opt.FS, c.runFile(tcpName))
}

// portsOfOthers are the ports of the branches beside this one.
func (c *cluster) portsOfOthers() (map[int]string, error) {
	branches := filepath.Dir(c.branch.Dir)
	entries, err := c.opt.FS.ReadDir(branches)
	if err != nil {
		return nil, &fault.Error{Op: "choose port", Path: branches, Err: err}
	}
	taken := map[int]string{}
	for _, e := range entries {
		dir := filepath.Join(branches, e.Name)
		var rec tcpRecord
		if dir != c.branch.Dir && record.Read(c.opt.FS, filepath.Join(dir, "run", tcpName), tcpKind, tcpFormat, &rec) == nil {
			taken[rec.Port] = dir
		}
	}
	return taken, nil
}

// portFree refuses a port that somebody has, and names them.
func (c *cluster) portFree(port int) error {
	err := bindable(port)
	if err == nil {
		return nil
	}
	e := &fault.Error{Op: "listen", Path: fmt.Sprintf("%s:%d", loopback, port), Kind: fault.Busy, Err: fmt.Errorf("the port cannot be had: %w", err),
		Hint: "End the program that has it, or choose another port with `forklift setup --tcp --port N`; the URL changes then."}
	if errors.Is(err, syscall.EADDRINUSE) {
		e.Err = errors.New("another program has this port")
		for _, pid := range proc.Listeners(port) {
			e.Items = append(e.Items, fmt.Sprintf("%d %s", pid, proc.Command(pid)))
		}
	}
	return e
}

// PortFree is an error if a server of this branch could not have its TCP port now.
func (c *cluster) PortFree(context.Context) error {
	port, err := c.listens()
	if err != nil || port == 0 {
		return err
	}
	return c.portFree(port)
}

// bindable tries whether a server could have the port. Nothing listens there
// at any time.
func bindable(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// password is the store's password for the superuser; "" where the branch
// has no place for one. It is made once, for all branches, so that a state can
// be restored anywhere in the store without an ALTER ROLE.
func (c *cluster) password() (string, error) {
	name := c.branch.SecretFile
	if name == "" {
		return "", nil
	}
	data, err := durable.ReadFile(c.opt.FS, name, maxPasswordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.CreateFile(c.opt.FS, name, []byte(rand.Text()+"\n"), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", &fault.Error{Op: "make password", Path: name, Err: err}
		}
		data, err = durable.ReadFile(c.opt.FS, name, maxPasswordBytes)
	}
	if err != nil {
		return "", &fault.Error{Op: "read password", Path: name, Err: err}
	}
	text := strings.TrimSpace(string(data))
	if text == "" || strings.ContainsAny(text, "\x00\r\n") {
		return "", &fault.Error{Op: "read password", Path: name, Kind: fault.Corrupt, Err: errors.New("it holds no password"),
			Hint: "Write a line with a password into it, or remove it: then a new one is made."}
	}
	return text, nil
}

// scramIterations is PostgreSQL's own default.
const scramIterations = 4096

// scramVerifier is what PostgreSQL keeps of a password (RFC 5802). The salt
// depends on the password alone, which is a random one, so that the text is
// always the same.
func scramVerifier(password string) (string, error) {
	sum := sha256.Sum256([]byte("forklift\x00" + password))
	salt := sum[:16]
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, encode(salt), encode(stored[:]), encode(mac("Server Key"))), nil
}

// setPassword gives the superuser of the running server the store's password,
// unless it has that.
func (c *cluster) setPassword(ctx context.Context) error {
	password, err := c.password()
	if err != nil || password == "" {
		return err
	}
	verifier, err := scramVerifier(password)
	if err != nil {
		return err
	}
	conn, err := c.connect(ctx, "")
	if err != nil {
		return err
	}
	defer conn.close()
	same := false
	query := "SELECT coalesce(rolpassword = '" + verifier + "', false) FROM pg_catalog.pg_authid WHERE rolname = '" + superuser + "'"
	if err := conn.rows(ctx, query, func(rows pgx.Rows) error { return rows.Scan(&same) }); err != nil || same {
		return err
	}
	return conn.exec(ctx, "ALTER ROLE "+superuser+" PASSWORD '"+verifier+"'")
}
