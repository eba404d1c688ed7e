package clock

import (
	"time"

	"github.com/dustin/go-humanize"
)

// Ago is how long ago something was, for people: "3 minutes ago".
func Ago(now, then time.Time) string {
	if then.IsZero() {
		return "never"
	}
	if now.Before(then) {
		now = then // another machine's clock, or a moved one
	}
	if age := humanize.RelTime(then, now, "ago", ""); age != "now" {
		return age
	}
	return "just now"
}

// Since is since when something has been so, in the user's time zone: "since
// 14:02, 3 minutes ago". Of another day the date is told, too.
func Since(now, then time.Time) string {
	now, then = now.Local(), then.Local()
	layout := "15:04"
	if now.Format(time.DateOnly) != then.Format(time.DateOnly) {
		layout = "2 January 15:04"
	}
	if now.Year() != then.Year() {
		layout = "2 January 2006 15:04"
	}
	return "since " + then.Format(layout) + ", " + Ago(now, then)
}
