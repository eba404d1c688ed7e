package engine

import (
	"context"
	"time"
)

// patiencePoll is how often those in the way are looked at again.
const patiencePoll = 50 * time.Millisecond

// patience bounds the waits of a verb for those who are in its way, managed
// commands and then transactions of clients, all together.
type patience struct {
	over     bool
	deadline *time.Timer
	tick     *time.Ticker
}

// newPatience is one that lasts so long from now; 0 is none. It has to be ended.
func newPatience(wait time.Duration) *patience {
	return &patience{over: wait <= 0, deadline: time.NewTimer(wait), tick: time.NewTicker(patiencePoll)}
}

func (p *patience) end() {
	p.deadline.Stop()
	p.tick.Stop()
}

// rest waits a moment. false says that it is time to refuse; when the time
// ends during the rest, one more look is left.
func (p *patience) rest(ctx context.Context) (bool, error) {
	if p.over {
		return false, nil
	}
	select {
	case <-ctx.Done():
		return false, canceled(ctx)
	case <-p.deadline.C:
		p.over = true
	case <-p.tick.C:
	}
	return true, nil
}
