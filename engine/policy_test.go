package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"forklift/storage"
)

// at makes pairs of these ages, newest first.
func at(now time.Time, ages ...time.Duration) []*storage.Pair {
	var pairs []*storage.Pair
	for _, age := range ages {
		pairs = append(pairs, &storage.Pair{Name: age.String(), Created: now.Add(-age)})
	}
	return pairs
}

func TestKeepPolicy(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2027, 3, 31, 12, 0, 0, 0, time.UTC)
	pairs := at(now, 0, 10*time.Minute, 70*time.Minute, day, day+time.Hour, 8*day, 20*day, 40*day)
	for _, c := range []struct {
		policy KeepPolicy
		want   []int // that stay
	}{
		{KeepPolicy{Last: 2}, []int{0, 1}},
		{KeepPolicy{Last: 99}, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{KeepPolicy{Hourly: 2}, []int{0, 1}}, // 12:00 and 11:50 are two hours
		{KeepPolicy{Daily: 3}, []int{0, 3, 5}},
		{KeepPolicy{Weekly: 3}, []int{0, 5, 6}},
		{KeepPolicy{Monthly: 2}, []int{0, 7}},
		{KeepPolicy{Within: 2 * time.Hour}, []int{0, 1, 2}},
		{KeepPolicy{Last: 1, Monthly: 9}, []int{0, 7}},
	} {
		var kept []int
		for i, why := range c.policy.reasons(pairs, time.UTC) {
			if len(why) > 0 {
				kept = append(kept, i)
			}
		}
		if !slices.Equal(kept, c.want) {
			t.Errorf("%+v keeps %v, not %v", c.policy, kept, c.want)
		}
	}
}

func TestExpiredSafety(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2027, 3, 31, 12, 0, 0, 0, time.UTC)
	var ages []time.Duration
	for i := range 60 {
		ages = append(ages, time.Duration(i)*day)
	}
	pairs := at(now, ages...)
	pairs[57].Protected = true
	var gone []string
	for _, p := range expired(pairs, now) {
		gone = append(gone, p.Name)
	}
	// 0 to 49 are the last 50; of the others all are older than 30 days.
	want := []string{}
	for _, i := range []int{59, 58, 56, 55, 54, 53, 52, 51, 50} {
		want = append(want, fmt.Sprint(ages[i]))
	}
	if !slices.Equal(gone, want) {
		t.Errorf("%v, not %v", gone, want)
	}
	if young := expired(at(now, slices.Repeat([]time.Duration{day}, 80)...), now); len(young) != 0 {
		t.Errorf("%d young ones are gone", len(young))
	}
}
