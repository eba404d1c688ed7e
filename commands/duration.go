package commands

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span in a request: text such as "90s", "2m30s", "7d",
// "2w", or a plain number of seconds.
type Duration time.Duration

// Std is the span as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is the span as time.Duration writes it, "" for none.
func (d Duration) String() string {
	if d == 0 {
		return ""
	}
	return time.Duration(d).String()
}

// MarshalText writes String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what a user wrote; negative spans are refused.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		*d = 0
		return nil
	}
	span, err := time.ParseDuration(s)
	for unit, hours := range map[string]time.Duration{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			if n, numErr := strconv.ParseUint(number, 10, 14); numErr == nil {
				span, err = time.Duration(n)*hours*time.Hour, nil
			}
		}
	}
	if seconds, numErr := strconv.ParseUint(s, 10, 31); numErr == nil {
		span, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s or 2m", s)
	}
	if span < 0 {
		return fmt.Errorf("%q is negative", s)
	}
	*d = Duration(span)
	return nil
}
