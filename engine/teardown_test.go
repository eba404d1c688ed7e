package engine

import (
	"context"
	"testing"

	"forklift/storage/fault"
)

// TestTeardownDoesOnlyThePlanThatWasShown: a checkpoint that was captured
// since makes another plan; the same state makes the same one.
func TestTeardownDoesOnlyThePlanThatWasShown(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	shown, err := wt.Teardown(ctx, TeardownOptions{})
	if err != nil || shown.Done || shown.Plan == "" {
		t.Fatalf("the plan: %+v %v", shown, err)
	}
	_, err = wt.Capture(ctx, CaptureOptions{Name: "since"})
	must(t, err)
	_, err = wt.Teardown(ctx, TeardownOptions{Yes: true, Plan: shown.Plan})
	wantKind(t, err, fault.Usage)
	if _, err := wt.Status(ctx); err != nil {
		t.Fatalf("after the refusal: %v", err)
	}
	if shown, err = wt.Teardown(ctx, TeardownOptions{}); err != nil {
		t.Fatal(err)
	}
	done, err := wt.Teardown(ctx, TeardownOptions{Yes: true, Plan: shown.Plan})
	if err != nil || !done.Done {
		t.Fatalf("the plan as it was shown: %+v %v", done, err)
	}
}
