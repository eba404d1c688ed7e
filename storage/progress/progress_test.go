package progress

import (
	"context"
	"testing"
)

func TestReport(t *testing.T) {
	ctx := context.Background()
	Report(ctx, Event{Phase: "to nobody"})
	var got []Event
	ctx = With(ctx, Func(func(e Event) { got = append(got, e) }))
	Report(ctx, Event{Phase: "scan", DoneFiles: 1})
	inner := With(ctx, Func(func(Event) {}))
	Report(inner, Event{Phase: "hidden"})
	Report(context.WithoutCancel(ctx), Event{Phase: "stop"})
	if len(got) != 2 || got[0] != (Event{Phase: "scan", DoneFiles: 1}) || got[1].Phase != "stop" {
		t.Errorf("got %v", got)
	}
}
