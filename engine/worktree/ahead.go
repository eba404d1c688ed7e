package worktree

import (
	"context"
	"iter"

	"forklift/storage"
)

// How far a manifest is read ahead: 4,096 entries, about a megabyte.
const (
	aheadEntries = 512
	aheadBatches = 8
)

// batch are entries that follow each other; err is what ended them.
type batch struct {
	entries []storage.Entry
	err     error
}

// readAhead is pullFrom with a goroutine of its own that walks while the entries
// before are looked at. It has ended when stop returns.
func readAhead(ctx context.Context, walk func(context.Context) iter.Seq2[storage.Entry, error]) *cursor {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan batch, aheadBatches)
	go func() {
		defer close(batches)
		fill(ctx, walk(ctx), batches)
	}()
	var now batch
	c := &cursor{}
	c.stop = func() {
		cancel()
		for range batches { // what was read and nobody wants
		}
	}
	c.next = func() (*storage.Entry, error) {
		if len(now.entries) == 0 && now.err == nil {
			var more bool
			if now, more = <-batches; !more {
				now.err = ctx.Err() // the walk was given up, else it is over
			}
		}
		if len(now.entries) == 0 {
			return nil, now.err
		}
		e := &now.entries[0]
		now.entries = now.entries[1:]
		return e, nil
	}
	c.advance()
	return c
}

// fill sends a walk in batches, until it ends or ctx does.
func fill(ctx context.Context, walk iter.Seq2[storage.Entry, error], batches chan<- batch) {
	var b batch
	send := func() bool {
		select {
		case batches <- b:
			b = batch{entries: make([]storage.Entry, 0, aheadEntries)}
			return true
		case <-ctx.Done():
			return false
		}
	}
	for e, err := range walk {
		if err != nil {
			b.err = err
			break
		}
		if b.entries = append(b.entries, e); len(b.entries) == aheadEntries && !send() {
			return
		}
	}
	send()
}
