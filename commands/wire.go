package commands

import (
	"runtime"

	"forklift/storage/fault"
)

// Wire completes an Env of this machine.
func Wire(env Env) (Env, error) {
	_, err := PlacesOf(env.Environ, runtime.GOOS)
	if err != nil {
		return env, err
	}
	return env, &fault.Error{Op: "start", Kind: fault.Unsupported}
}
