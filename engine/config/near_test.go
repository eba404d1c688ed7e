package config

import "testing"

func TestNear(t *testing.T) {
	names := []string{"start", "stop", "timeout_seconds"}
	for name, want := range map[string]string{
		"stpo": "stop", "strat": "start", "stat": "start", "timeout": "timeout_seconds", "before": "", "st": "", "": "",
	} {
		if got := Near(name, names); got != want {
			t.Errorf("near %q is %q, want %q", name, got, want)
		}
	}
}
