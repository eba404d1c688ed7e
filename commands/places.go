package commands

import (
	"errors"
	"path/filepath"

	"forklift/storage/fault"
)

// Places are where the user's data is.
type Places struct {
	Store string // the store of projects that do not name another
	State string // approvals
	Cache string // what can be fetched or made again
}

// PlacesOf tells the places for an environment and an operating system, as
// runtime.GOOS names it. Nothing is looked at or made. Relative values of XDG
// variables are ignored, as their specification says.
func PlacesOf(environ []string, goos string) (Places, error) {
	home, _ := lookup(environ, "HOME")
	data, state, cache := xdg(environ, "XDG_DATA_HOME"), xdg(environ, "XDG_STATE_HOME"), xdg(environ, "XDG_CACHE_HOME")
	var p Places
	if filepath.IsAbs(home) {
		p = Places{
			Store: filepath.Join(home, ".local/share/forklift"),
			State: filepath.Join(home, ".local/state/forklift"),
			Cache: filepath.Join(home, ".cache/forklift"),
		}
		if goos == "darwin" {
			p = Places{
				Store: filepath.Join(home, "Library/Application Support/forklift"),
				State: filepath.Join(home, "Library/Application Support/forklift-state"),
				Cache: filepath.Join(home, "Library/Caches/forklift"),
			}
		}
	}
	if data != "" {
		p.Store = filepath.Join(data, "forklift")
	}
	if state != "" {
		p.State = filepath.Join(state, "forklift")
	}
	if cache != "" {
		p.Cache = filepath.Join(cache, "forklift")
	}
	if store, ok := lookup(environ, "FORKLIFT_STORE"); ok && store != "" {
		if !filepath.IsAbs(store) {
			return Places{}, &fault.Error{
				Op: "find store", Path: store, Kind: fault.Usage, Err: errors.New("FORKLIFT_STORE is not an absolute path"),
				Hint: "Write it as a path that begins with /.",
			}
		}
		p.Store = filepath.Clean(store)
	}
	if p.Store == "" || p.State == "" || p.Cache == "" {
		return Places{}, &fault.Error{
			Op: "find home directory", Kind: fault.Usage, Err: errors.New("HOME is not set to an absolute path"),
			Hint: "Set HOME, or FORKLIFT_STORE, XDG_STATE_HOME and XDG_CACHE_HOME.",
		}
	}
	return p, nil
}

func xdg(environ []string, name string) string {
	dir, _ := lookup(environ, name)
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}
