package lsp

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Outbox queues messages for one reader and writes them, in the order of
// calls, on a goroutine of its own: whoever sends never waits for the reader.
// It is safe for concurrent use.
type Outbox struct {
	done chan struct{}
	over sync.Once     // closes done
	wake chan struct{} // tells the writer; holds one

	mu      sync.Mutex
	queue   []byte
	held    []byte // behind what is not held back
	holding bool
	closed  bool  // no more messages are taken
	failure error // why, if it was not asked for
}

// NewOutbox writes to w until Close, an error, or more than MaxQueued bytes
// that were not taken.
func NewOutbox(w io.Writer) *Outbox {
	o := &Outbox{done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go o.write(w)
	return o
}

// Done is closed when nothing is written any more.
func (o *Outbox) Done() <-chan struct{} { return o.done }

// Err is why the outbox ended by itself; nil after Close.
func (o *Outbox) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failure
}

// Send queues one message behind its header. Success means that it is in the
// queue.
func (o *Outbox) Send(body []byte) error { return o.send(body, false) }

// hold keeps back what sendHeld is given, until release.
func (o *Outbox) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holding = true
}

func (o *Outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue, o.held, o.holding = append(o.queue, o.held...), nil, false
	o.wakeLocked()
}

func (o *Outbox) sendHeld(body []byte) error { return o.send(body, true) }

func (o *Outbox) send(body []byte, mayWait bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrClosed
	}
	if n := len(o.queue) + len(o.held); n+len(body) > MaxQueued {
		o.failLocked(fmt.Errorf("the other side did not read %d bytes", n))
		return o.failure
	}
	if mayWait && o.holding {
		o.held = AppendFrame(o.held, body)
		return nil
	}
	o.queue = AppendFrame(o.queue, body)
	o.wakeLocked()
	return nil
}

func (o *Outbox) wakeLocked() {
	if o.closed {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Close takes no more messages; those in the queue are written.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeLocked()
}

func (o *Outbox) closeLocked() {
	if !o.closed {
		o.closed = true
		close(o.wake)
	}
}

// failLocked ends the outbox at once: the writer may be stuck in a write.
func (o *Outbox) failLocked(err error) {
	o.failure = err
	o.closeLocked()
	o.over.Do(func() { close(o.done) })
}

// Flush closes the outbox and waits, for at most the given time, until all is
// written.
func (o *Outbox) Flush(wait time.Duration) error {
	o.Close()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-o.done:
		return o.Err()
	case <-timer.C:
		return errors.New("the other side does not read")
	}
}

// write writes what is queued until the outbox is closed.
func (o *Outbox) write(w io.Writer) {
	defer o.over.Do(func() { close(o.done) })
	for open := true; open; {
		_, open = <-o.wake
		o.mu.Lock()
		frames, failed := o.queue, o.failure != nil
		o.queue = nil
		o.mu.Unlock()
		if len(frames) == 0 || failed {
			continue
		}
		if _, err := w.Write(frames); err != nil {
			o.mu.Lock()
			if o.failure == nil {
				o.failLocked(fmt.Errorf("write: %w", err))
			}
			o.mu.Unlock()
			return
		}
	}
}
