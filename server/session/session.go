package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"forklift/commands"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

// session is the handler of one connection.
type session struct {
	hub  *Hub
	peer Peer
	id   string // of this process and this session, fit for a file name

	conn   *lsp.Conn // set by Initialize, before anything else is called
	client client
	docs   documents

	mu      sync.Mutex
	folders []folder
	apart   map[string]*tree              // by root: worktrees inside of open ones; see homeOf
	tokens  int64                         // server-made progress tokens
	running map[string]context.CancelFunc // by progress token, as JSON

	diagnosing sync.Mutex            // orders the diagnostics, and guards told
	told       map[string]*published // by the tree's root

	refreshing bool // the client was asked to ask for lenses again
}

// client is what the client told of itself that matters here.
type client struct {
	name            string
	createProgress  bool // takes window/workDoneProgress/create
	refreshLenses   bool
	documentContent bool
}

func newSession(h *Hub, peer Peer, number int) *session {
	return &session{hub: h, peer: peer, id: fmt.Sprintf("%d-%d", os.Getpid(), number), running: map[string]context.CancelFunc{}, told: map[string]*published{}, apart: map[string]*tree{}, docs: documents{open: map[string]*document{}, untold: map[*tree]bool{}}}
}

// Initialize answers with what this server can do and attaches the folders.
func (s *session) Initialize(ctx context.Context, conn *lsp.Conn, params *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.conn = conn
	s.client = clientOf(params)
	for _, text := range foldersOf(params) {
		s.addFolder(ctx, text)
	}
	return &protocol.InitializeResult{
		Capabilities: capabilities(),
		ServerInfo:   protocol.ServerInfo{Name: "forklift", Version: protocol.NewOptional(commands.Version)},
	}, nil
}

// Notification takes what the client tells, in the order of the wire.
func (s *session) Notification(ctx context.Context, method string, params json.RawMessage) {
	handle, ok := map[string]func(context.Context, json.RawMessage) error{
		"workspace/didChangeWorkspaceFolders": s.didChangeFolders,
		"window/workDoneProgress/cancel":      s.cancelProgress,
		"textDocument/didOpen":                s.didOpen,
		"textDocument/didChange":              s.didChange,
		"textDocument/didSave":                s.didSave,
		"textDocument/didClose":               s.didClose,
	}[method]
	if !ok {
		return
	}
	if err := handle(ctx, params); err != nil {
		s.hub.opt.Log.Warn("ignored a notification", "method", method, "error", err)
	}
}

// Lane puts the verbs that change something into one queue per worktree.
func (s *session) Lane(method string, params json.RawMessage) string {
	if method != "workspace/executeCommand" {
		return ""
	}
	return s.commandLane(params)
}

// Request answers the requests.
func (s *session) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	handle, ok := map[string]func(context.Context, json.RawMessage) (any, error){
		"workspace/executeCommand":      s.executeCommand,
		"workspace/textDocumentContent": s.content,
		"textDocument/codeAction":       s.codeActions,
		"textDocument/codeLens":         s.codeLenses,
		"textDocument/hover":            s.hover,
		"textDocument/completion":       s.completion,
		"forklift/status":               s.statusRequest,
		"forklift/checkpoints":          s.checkpoints,
		"forklift/plan":                 s.planRequest,
		"forklift/content":              s.content,
		"forklift/file":                 s.file,
		"forklift/commands":             s.commandsRequest,
	}[method]
	if !ok {
		return nil, lsp.ErrMethodNotFound
	}
	return handle(ctx, params)
}

// Closed gives back what the session held.
func (s *session) Closed() {
	s.mu.Lock()
	folders := s.folders
	s.folders = nil
	s.mu.Unlock()
	s.closeDocuments()
	for _, f := range folders {
		s.release(f)
	}
	s.hub.gone()
}

// notify sends a notification; a client that is gone needs none.
func (s *session) notify(method string, params any) {
	_ = s.conn.Notify(context.Background(), method, params)
}

// failure is an error as the client gets it.
func failure(err error) error {
	f := commands.FailureOf(err)
	return &lsp.Error{Code: rpcCode(err), Message: f.Message, Data: f}
}
