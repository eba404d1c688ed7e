package clock

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 5, 0, 0, time.Local)
	for then, want := range map[time.Time]string{
		now.Add(-3 * time.Minute):       "since 14:02, 3 minutes ago",
		now.Add(-3 * time.Minute).UTC(): "since 14:02, 3 minutes ago",
		now:                             "since 14:05, just now",
		now.Add(time.Hour):              "since 15:05, just now",
		time.Date(2026, 3, 2, 14, 5, 0, 0, time.Local): "since 2 March 14:05, 2 days ago",
		time.Date(2025, 3, 4, 14, 5, 0, 0, time.Local): "since 4 March 2025 14:05, 1 year ago",
	} {
		if got := Since(now, then); got != want {
			t.Errorf("since %v: %q, want %q", then, got, want)
		}
	}
	if got := Ago(now, time.Time{}); got != "never" {
		t.Errorf("ago of no time: %q", got)
	}
}
