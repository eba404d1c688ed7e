package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/protocol"
)

// Handler is what stands behind one connection. All methods but Request and
// Closed are called on the goroutine that reads, in the order of the wire, and
// must return quickly.
type Handler interface {
	// Initialize answers the initialize request. conn may be used from here
	// on; what is sent is held back until the answer is on its way, requests
	// to the client until it said initialized.
	Initialize(ctx context.Context, conn *Conn, params *protocol.InitializeParams) (*protocol.InitializeResult, error)
	// Notification gets every notification but exit and $/cancelRequest,
	// between initialize and shutdown. One that it does not know, or whose
	// params are wrong, it ignores. params is nil when there are none.
	Notification(ctx context.Context, method string, params json.RawMessage)
	// Lane names the queue of a request: requests of one lane are handled
	// one after the other in the order of the wire; "" runs at once.
	Lane(method string, params json.RawMessage) string
	// Request answers any other request. ctx ends on $/cancelRequest and
	// when the connection ends (its cause is ErrClosed then); work that must
	// go on detaches itself from it (context.WithoutCancel). The result is encoded by Encode.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Closed is called once, when the connection ended and the last call of
	// Request returned. Without an initialize it is called as well.
	Closed()
}

// The error codes of JSON-RPC and LSP that this package answers with.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeNotInitialized = -32002
	CodeCancelled      = -32800
	CodeRequestFailed  = -32803
)

// Error is an error as the client gets it, and the error of a request that the
// client refused.
type Error struct {
	Code    int
	Message string
	Data    any // encoded by Encode; nil: none. From the client: json.RawMessage
}

// Error is the message with its code, for logs.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// ErrMethodNotFound is what Request returns for a method it does not know.
var ErrMethodNotFound = errors.New("method not found")

// ErrParams is what Request returns, or wraps, when params are wrong; Decode
// does so.
var ErrParams = errors.New("invalid params")

// ErrClosed is what sending fails with when the connection ended.
var ErrClosed = errors.New("the connection is closed")
