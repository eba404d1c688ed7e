// Package progress carries reports of long work to whoever shows them.
//
// The engine and the store report through the context; without a reporter in
// it a report costs nothing. A reporter must not block: it is called from the
// loops that move the bytes.
package progress

import "context"

// Event is one report: the phase that is under way and how far it is. Totals
// are 0 while they are not known.
type Event struct {
	Phase      string `json:"phase"` // "scan sources", "stop database", ...
	DoneBytes  int64  `json:"done_bytes"`
	TotalBytes int64  `json:"total_bytes"`
	DoneFiles  int    `json:"done_files"`
	TotalFiles int    `json:"total_files"`
}

// Reporter receives events, from any goroutine.
type Reporter interface {
	Report(Event)
}

// Func is a Reporter made of a function.
type Func func(Event)

// Report calls f.
func (f Func) Report(e Event) { f(e) }

type key struct{}

// With returns a context whose work reports to r.
func With(ctx context.Context, r Reporter) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// Report sends e to the context's reporter, if it has one.
func Report(ctx context.Context, e Event) {
	if r, ok := ctx.Value(key{}).(Reporter); ok {
		r.Report(e)
	}
}
