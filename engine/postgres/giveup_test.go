package postgres

import (
	"context"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"
)

// TestGivenUpStartEndsTheServer cancels a start as soon as the process is
// there, in a process that ignores SIGINT as commands in the background of a
// script do: the server is born deaf to it, and ends all the same.
func TestGivenUpStartEndsTheServer(t *testing.T) {
	c := initialised(t)
	signal.Ignore(syscall.SIGINT)
	defer signal.Reset(syscall.SIGINT)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_ = poll(ctx, startTimeout, func() (bool, error) {
			rec, err := c.readOwner()
			return rec != nil && rec.PID != 0, err
		})
	}()
	err := c.Start(ctx, engine.SlotA)
	if fault.KindOf(err) != fault.Canceled || strings.Contains(err.Error(), "does not end") {
		t.Fatalf("Start gives %v, want that it was canceled and the server is gone", err)
	}
	if st, err := c.State(context.Background(), engine.SlotA); err != nil || st.State == engine.Running {
		t.Fatalf("the server is %v, %v, want that none runs", st.State, err)
	}
}
