package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"forklift/server/daemon"
	"forklift/server/lsp"
)

// replayID is the id of the initialize that the front sends itself.
const replayID = `"forklift-front-initialize"`

// fromDaemon passes a message of the daemon on.
func (f *front) fromDaemon(body []byte) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		f.opt.Log("dropped a message of the daemon: " + err.Error())
		return
	}
	if e.Method == nil {
		f.answerOf(e)
	} else {
		switch *e.Method {
		case daemon.EndingMethod:
			f.ending = true
			return
		case "$/progress":
			f.noteProgress(e.Params)
		}
	}
	_ = f.out.Send(body) // an editor that is gone is seen by the loop
}

// answerOf notes that a request is answered.
func (f *front) answerOf(e envelope) {
	id := string(e.ID)
	delete(f.requests, id)
	if f.answered || f.initialize == nil || id != f.initID {
		return
	}
	if e.Error != nil {
		f.initialize = nil // refused: the editor may try again
		return
	}
	f.answered = true
	var result struct {
		Capabilities struct {
			PositionEncoding string `json:"positionEncoding"`
		} `json:"capabilities"`
	}
	if json.Unmarshal(e.Result, &result) == nil && result.Capabilities.PositionEncoding != "" {
		f.docs.encoding = result.Capabilities.PositionEncoding
	}
}

// noteProgress notes what progress is open.
func (f *front) noteProgress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	switch p.Value.Kind {
	case "begin":
		f.progress[string(p.Token)] = p.Token
	case "end":
		delete(f.progress, string(p.Token))
	}
}

// restart puts a new daemon into the place of one that is gone. An error
// means that there is none.
func (f *front) restart(ctx context.Context, cause error) error {
	f.daemon.Close()
	f.toward.Close()
	f.daemon = nil
	if f.shutdown {
		// Nothing is left to ask a daemon for; exit or the end of the
		// input comes next.
		f.abandon()
		return f.awaitExit(ctx)
	}
	silent := f.ending
	if !silent {
		f.opt.Log(describe(cause))
	}
	f.abandon()
	if err := f.redial(ctx); err != nil {
		f.show(messageError, fmt.Sprintf("Forklift: the daemon ended and cannot be started again: %v", err))
		return err
	}
	if !silent {
		f.show(messageWarning, "Forklift: the daemon ended unexpectedly and was started again. What it was doing may be interrupted; `forklift status` tells.")
	}
	return nil
}

// abandon answers what the lost daemon was asked and ends its progress. An
// initialize that was not answered is sent again instead.
func (f *front) abandon() {
	ids := make([]string, 0, len(f.requests))
	for id := range f.requests {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if !f.answered && f.initialize != nil && id == f.initID && !f.shutdown {
			continue
		}
		delete(f.requests, id)
		if f.shutdown && id == f.shutdownID {
			// There is nothing left that could fail.
			_ = f.out.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`, id))
			continue
		}
		f.answer(json.RawMessage(id), lsp.CodeRequestFailed, "the Forklift daemon ended before it answered; `forklift status` tells whether an operation was interrupted")
	}
	for key, token := range f.progress {
		delete(f.progress, key)
		_ = f.out.Send(notification("$/progress", map[string]any{"token": token, "value": map[string]string{"kind": "end"}}))
	}
}

// awaitExit reads on until the editor says exit or ends.
func (f *front) awaitExit(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.gone:
			return errors.New("the editor's process is gone")
		case m := <-f.input:
			var e envelope
			if m.err != nil {
				return m.err
			}
			if json.Unmarshal(m.body, &e) == nil && e.Method != nil && *e.Method == "exit" {
				return errExit
			}
			if e.Method != nil && len(e.ID) > 0 {
				f.answer(e.ID, lsp.CodeInvalidRequest, "shutdown was sent before")
			}
		}
	}
}

// redial connects again and tells the new daemon all that the old one knew.
func (f *front) redial(ctx context.Context) error {
	pause := time.Duration(0)
	for {
		now := f.opt.Clock.Now()
		f.redials = slices.DeleteFunc(f.redials, func(t time.Time) bool { return now.Sub(t) > redialSpan })
		if len(f.redials) >= maxRedials {
			return fmt.Errorf("it was started %d times within %v", maxRedials, redialSpan)
		}
		f.redials = append(f.redials, now)
		if pause > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-f.gone:
				return errors.New("the editor's process is gone")
			case <-time.After(pause):
			}
		}
		pause = max(2*pause, redialPause)
		err := f.connect(ctx)
		if err != nil {
			return err // Connect has tried for long enough
		}
		if err = f.replay(ctx); err == nil {
			return nil
		}
		f.opt.Log(describe(err))
		f.daemon.Close()
		f.toward.Close()
		f.daemon = nil
	}
}

// replay sends initialize and what followed.
func (f *front) replay(ctx context.Context) error {
	if f.initialize == nil {
		return nil
	}
	id := replayID
	if !f.answered {
		id = f.initID // the editor still waits for this one
	}
	_ = f.toward.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"initialize","params":%s}`, id, f.initialize)) // see below
	if !f.answered {
		return nil // what follows comes from the editor
	}
	if err := f.awaitReplay(ctx); err != nil {
		return err
	}
	if !f.ready {
		return nil
	}
	messages := append([][]byte{notification("initialized", struct{}{})}, f.kept...)
	for _, body := range append(messages, f.docs.replay()...) {
		if err := f.toward.Send(body); err != nil {
			return err
		}
	}
	return nil
}

// awaitReplay waits for the answer to the initialize that the front sent.
func (f *front) awaitReplay(ctx context.Context) error {
	timer := time.NewTimer(replayTimeout)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.gone:
			return errors.New("the editor's process is gone")
		case <-timer.C:
			return fmt.Errorf("it did not answer initialize within %v", replayTimeout)
		case m := <-f.output:
			if m.err != nil {
				return m.err
			}
			var e envelope
			if json.Unmarshal(m.body, &e) == nil && e.Method == nil && string(e.ID) == replayID {
				if e.Error != nil {
					return fmt.Errorf("it refused initialize: %s", e.Error)
				}
				return nil
			}
			f.fromDaemon(m.body)
		}
	}
}
