package session

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"forklift/commands"
	"forklift/server/lsp"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

const (
	// reportEvery is the least time between two reports of one verb.
	reportEvery = 100 * time.Millisecond
	// createTimeout bounds the wait for window/workDoneProgress/create; the
	// verb does not wait for it.
	createTimeout = 5 * time.Second
)

// span is the part of the whole that a phase takes, in percent.
type span struct{ from, to int }

// spans are where the phases are between the beginning and the end. They are
// for a bar that moves forward, not measured: a verb leaves phases out, and
// what is not here leaves the bar where it is.
var spans = map[string]span{
	"wait for managed commands": {0, 2},
	"patch":                     {2, 40},
	"prepare database":          {2, 40},
	"save":                      {40, 45},
	"read database":             {45, 55},
	"scan sources":              {55, 62},
	"stop database":             {62, 65},
	"read what changed since":   {65, 75},
	"store":                     {75, 80},
	"stage":                     {80, 81},
	"stage sources":             {81, 86},
	"flush":                     {86, 88},
	"switch":                    {88, 89},
	"install":                   {89, 90},
	"install sources":           {90, 96},
	"start database":            {96, 99},
}

// final are the phases behind the point of no return.
var final = map[string]bool{"switch": true, "install": true, "install sources": true}

// reporter sends the work-done progress of one verb. Report never blocks.
type reporter struct {
	s       *session
	title   string
	token   json.RawMessage // of the client; nil: one is made
	cancel  context.CancelFunc
	ctx     context.Context
	stop    context.CancelFunc
	ended   chan struct{}
	wake    chan struct{} // holds one
	mu      sync.Mutex
	latest  progress.Event
	percent int
	fixed   bool // behind the point of no return
	result  string
}

// progress begins the progress of a verb: with the client's token, else with
// one of ours if the client takes such.
func (s *session) progress(v *commands.Verb, token json.RawMessage, cancel context.CancelFunc) *reporter {
	r := &reporter{s: s, title: "Forklift: " + v.Name, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	if len(token) > 0 && string(token) != "null" {
		r.token = token
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	go r.run()
	return r
}

// Report takes an event in.
func (r *reporter) Report(e progress.Event) {
	r.mu.Lock()
	if e.Phase != "" {
		r.latest = e
	}
	r.fixed = r.fixed || final[e.Phase]
	if s, ok := spans[e.Phase]; ok {
		r.percent = max(r.percent, s.from+int(float64(s.to-s.from)*share(e)))
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// share is how much of a phase is done, from 0 to 1.
func share(e progress.Event) float64 {
	switch {
	case e.TotalBytes > 0:
		return min(1, float64(e.DoneBytes)/float64(e.TotalBytes))
	case e.TotalFiles > 0:
		return min(1, float64(e.DoneFiles)/float64(e.TotalFiles))
	}
	return 0
}

// end sends the end and waits until it is on its way.
func (r *reporter) end(err error) {
	r.mu.Lock()
	r.result = "done"
	if err != nil {
		r.result = fault.KindOf(err).String()
	}
	r.mu.Unlock()
	r.stop()
	<-r.ended
}

// run sends what there is to send, and the end in every case.
func (r *reporter) run() {
	defer close(r.ended)
	if !r.create() {
		return
	}
	key := string(r.token)
	r.s.mu.Lock()
	r.s.running[key] = r.cancel
	r.s.mu.Unlock()
	defer func() {
		r.s.mu.Lock()
		delete(r.s.running, key)
		r.s.mu.Unlock()
	}()
	r.send(map[string]any{"kind": "begin", "title": r.title, "cancellable": true, "percentage": 0})
	pace := time.NewTicker(reportEvery)
	defer pace.Stop()
	for {
		select {
		case <-r.ctx.Done():
			r.mu.Lock()
			result := r.result
			r.mu.Unlock()
			r.send(map[string]any{"kind": "end", "message": result})
			return
		case <-r.wake:
			r.mu.Lock()
			report := map[string]any{"kind": "report", "message": r.latest.Phase, "percentage": r.percent, "cancellable": !r.fixed}
			r.mu.Unlock()
			r.send(report)
		}
		select {
		case <-pace.C:
		case <-r.ctx.Done():
		}
	}
}

// create makes a token if the client gave none; false means no progress.
func (r *reporter) create() bool {
	if r.token != nil {
		return true
	}
	if !r.s.client.createProgress {
		return false
	}
	r.s.mu.Lock()
	r.s.tokens++
	token := raw(fmt.Sprintf("forklift-%d", r.s.tokens))
	r.s.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.ctx, createTimeout)
	defer cancel()
	if err := r.s.conn.Call(ctx, "window/workDoneProgress/create", map[string]any{"token": token}, nil); err != nil {
		return false
	}
	r.token = token
	return true
}

func (r *reporter) send(value map[string]any) {
	r.s.notify("$/progress", map[string]any{"token": r.token, "value": value})
}

// cancelProgress cancels the verb of a progress token.
func (s *session) cancelProgress(_ context.Context, params json.RawMessage) error {
	var p struct {
		Token json.RawMessage `json:"token"`
	}
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	s.mu.Lock()
	cancel := s.running[string(p.Token)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil
}
