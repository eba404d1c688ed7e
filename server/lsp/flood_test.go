package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// TestAFloodHoldsUpItselfOnly floods one connection: only so many of its
// requests run, what is no request and what is in a lane goes on, another
// connection is served, and in the end every request is answered once.
func TestAFloodHoldsUpItselfOnly(t *testing.T) {
	const flood = 5000
	w, other := ready(t, Options{}), ready(t, Options{})
	var all strings.Builder
	for i := range flood {
		all.Write(AppendFrame(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"hold"}`, i+10)))
	}
	w.raw(all.String())
	w.send(`{"jsonrpc":"2.0","id":"laned","method":"lane","params":{}}`)
	w.want(`{"jsonrpc":"2.0","id":"laned","result":{}}`)
	other.goesOn()
	held := func() (n int) {
		for _, seen := range w.h.log() {
			if seen == "hold" {
				n++
			}
		}
		return n
	}
	for range DefaultParallel { // so many begin
		for <-w.h.began != "hold" {
		}
	}
	if n := held(); n != DefaultParallel {
		t.Errorf("%d requests run at once, want %d", n, DefaultParallel)
	}
	// Who waits for a place can be cancelled.
	began := map[string]bool{}
	for i := range DefaultParallel + 1 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, i+10))
		got := w.read()
		if !strings.Contains(got, `"code":-32800`) || began[got] {
			t.Fatalf("answer to a cancelled request: %s", got)
		}
		began[got] = true
	}
	close(w.h.holds)
	answers := map[string]bool{}
	for range flood - DefaultParallel - 1 {
		got := w.read()
		if !strings.HasSuffix(got, `"result":"held"}`) || answers[got] {
			t.Fatalf("answer %s", got)
		}
		answers[got] = true
	}
	w.goesOn()
}
