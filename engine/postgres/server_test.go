package postgres

import (
	"testing"
	"time"

	"forklift/engine"
)

func TestLifeOfAServer(t *testing.T) {
	c := branch(t, options(t))
	ctx := t.Context()
	wantState(t, c, engine.SlotA, engine.AtRest)

	at := time.Now()
	must(t, c.Init(ctx, engine.SlotA))
	took(t, "init", at)
	wantState(t, c, engine.SlotA, engine.AtRest)

	for range 5 {
		at = time.Now()
		must(t, c.Start(ctx, engine.SlotA))
		took(t, "start", at)
		at = time.Now()
		must(t, c.Start(ctx, engine.SlotA))
		took(t, "start of a running one", at)
		st := wantState(t, c, engine.SlotA, engine.Running)
		if st.PID == 0 || st.Slot != engine.SlotA || st.Version == "" || st.Since.IsZero() {
			t.Fatalf("status %+v", st)
		}
		at = time.Now()
		sql(t, c, "CREATE TABLE IF NOT EXISTS t (n int); INSERT INTO t VALUES (1)")
		took(t, "connect and insert", at)
		at = time.Now()
		must(t, c.Settle(ctx))
		took(t, "settle", at)
		at = time.Now()
		_, err := c.Observe(ctx)
		must(t, err)
		took(t, "observe", at)
		at = time.Now()
		must(t, c.Stop(ctx))
		took(t, "stop", at)
		at = time.Now()
		must(t, c.Stop(ctx))
		took(t, "stop of a stopped one", at)
		wantState(t, c, engine.SlotA, engine.AtRest)
		at = time.Now()
		_, err = c.Trees(ctx, engine.SlotA, false)
		must(t, err)
		took(t, "trees", at)
		if w := c.Warnings(); len(w) > 0 {
			t.Errorf("warnings: %v", w)
		}
	}
}
