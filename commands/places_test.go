package commands_test

import (
	"testing"
	"time"

	"forklift/commands"
	"forklift/storage/fault"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		environ    []string
		want       commands.Places
	}{
		{
			"Linux", "linux", []string{"HOME=/u/me"},
			commands.Places{Store: "/u/me/.local/share/forklift", State: "/u/me/.local/state/forklift", Cache: "/u/me/.cache/forklift"},
		},
		{
			"macOS", "darwin", []string{"HOME=/u/me"},
			commands.Places{
				Store: "/u/me/Library/Application Support/forklift", State: "/u/me/Library/Application Support/forklift-state",
				Cache: "/u/me/Library/Caches/forklift",
			},
		},
		{
			"XDG", "linux", []string{"HOME=/u/me", "XDG_DATA_HOME=/d", "XDG_STATE_HOME=/s", "XDG_CACHE_HOME=/c"},
			commands.Places{Store: "/d/forklift", State: "/s/forklift", Cache: "/c/forklift"},
		},
		{
			"relative XDG is ignored", "linux", []string{"HOME=/u/me", "XDG_DATA_HOME=d", "XDG_STATE_HOME="},
			commands.Places{Store: "/u/me/.local/share/forklift", State: "/u/me/.local/state/forklift", Cache: "/u/me/.cache/forklift"},
		},
		{
			"own store", "linux", []string{"HOME=/u/me", "XDG_DATA_HOME=/d", "FORKLIFT_STORE=/big/store/"},
			commands.Places{Store: "/big/store", State: "/u/me/.local/state/forklift", Cache: "/u/me/.cache/forklift"},
		},
		{
			"no home", "linux", []string{"FORKLIFT_STORE=/big", "XDG_STATE_HOME=/s", "XDG_CACHE_HOME=/c"},
			commands.Places{Store: "/big", State: "/s/forklift", Cache: "/c/forklift"},
		},
	} {
		got, err := commands.PlacesOf(c.environ, c.goos)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, environ := range [][]string{nil, {"HOME=relative"}, {"HOME=/u/me", "FORKLIFT_STORE=relative"}} {
		if _, err := commands.PlacesOf(environ, "linux"); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%v: %v, want kind usage with a hint", environ, err)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "90s": 90e9, "1m30s": 90e9, "90": 90e9, "0": 0, "300ms": 3e8} {
		var d commands.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Std() != want {
			t.Errorf("%q: %v, %v; want %v", text, d.Std(), err, want)
		}
		back := commands.Duration(1)
		if err := back.UnmarshalText([]byte(d.String())); err != nil || back != d {
			t.Errorf("%q: %q does not read back: %v, %v", text, d.String(), back, err)
		}
	}
	for _, text := range []string{"-1s", "-1", "soon", "1 m", "99999999999999999999"} {
		var d commands.Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, d.Std())
		}
	}
}
