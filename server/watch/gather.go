package watch

import "time"

// gathering is an event that grows until it has been quiet, or old enough.
type gathering struct {
	event Event
	any   bool        // something was added
	ready bool        // it is to be told
	quiet *time.Timer // since the last addition
	most  *time.Timer // since the first
}

func newGathering() *gathering {
	g := &gathering{quiet: time.NewTimer(time.Hour), most: time.NewTimer(time.Hour)}
	g.stop()
	return g
}

// add takes an event in; an empty one is none.
func (g *gathering) add(e Event) {
	if e.None() {
		return
	}
	g.event.Add(e)
	g.quiet.Reset(quiet)
	if !g.any {
		g.any = true
		g.most.Reset(most)
	}
}

// due is the channel of a timer while there is something to wait for.
func (g *gathering) due(t *time.Timer) <-chan time.Time {
	if !g.any || g.ready {
		return nil
	}
	return t.C
}

// output is out when there is something to tell, else nil.
func (g *gathering) output(out chan Event) chan Event {
	if !g.ready {
		return nil
	}
	return out
}

// clear begins the next event.
func (g *gathering) clear() {
	g.event, g.any, g.ready = Event{}, false, false
	g.stop()
}

func (g *gathering) stop() {
	g.quiet.Stop()
	g.most.Stop()
}
