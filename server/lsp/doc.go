// Package lsp carries the Language Server Protocol over one connection. It
// knows frames, messages and their order; what a request means is told by a
// [Handler]. It is the only package that uses go.lsp.dev/jsonrpc2.
//
// Of go.lsp.dev three things are used: the message encoding of jsonrpc2, the
// types of protocol, and its codec. The connection of jsonrpc2 is not: its
// handlers leave the order of the wire and its reads have no limits. The loop
// here is short enough to be read as a whole ([Serve]).
//
// # Order
//
// One goroutine reads. Notifications, initialize and shutdown are handled on
// it, so they are seen in the order of the wire; a handler that is slow there
// holds up everything behind it. For any other request the same goroutine
// registers the id and takes the place in the queue that [Handler.Lane]
// names, and only then does the request run on its own. Requests of one lane
// therefore run one after the other in the order of the wire. What is sent
// goes through one queue: in the order of calls, and without waiting for a
// client that does not read.
//
// # Lifecycle
//
// Before initialize every request is answered -32002 and every notification
// dropped; a second initialize and everything after shutdown is answered
// -32600. What the handler sends while it answers initialize is held back
// until that answer is on its way. The exit code is 0 after shutdown and exit,
// else 1. A connection ends at exit, at the end of the input, at bytes that
// are no frames or no JSON, when the client reads nothing of more than
// [MaxQueued] bytes, and, with Options.WatchProcess, when the client's process
// is gone.
//
// # Errors
//
// A bad message costs that message only: a notification is logged and ignored,
// a request is answered. A handler's *[Error] is sent as it is; a cancelled
// request is answered -32800, an unknown method -32601, bad params -32602,
// everything else -32603. A panic is logged with its stack and answered -32603
// without a word of it. Params may be left out, be null or be an empty array:
// all mean an empty object, because some clients cannot write one.
//
// # Limits
//
// A header line has at most 8 KiB and there are at most 16 of them, a body has
// at most 16 MiB, at most 16,384 requests of a connection are open, of which at
// most [DefaultParallel] run outside of lanes, so that a client that floods holds
// up itself and no other one, and every request to the client ends at a deadline.
// What the connections of one process run together is bounded by their [Gate].
package lsp
