package supabase

import (
	"fmt"

	"forklift/storage/fault"
)

// nativeRuntime is the one runtime of the CLI that Forklift can drive.
const nativeRuntime = "native"

// checkRuntime refuses the runtimes that keep the database where no checkpoint
// can read it.
func checkRuntime(name string) error {
	switch name {
	case "", nativeRuntime:
		return nil
	case "docker", "podman":
		return &fault.Error{Op: "choose runtime", Path: name, Kind: fault.Unsupported,
			Err:  fmt.Errorf("Forklift needs the CLI's native runtime, because a checkpoint saves plain files and %s keeps the database in a volume", name),
			Hint: `Leave "runtime" out of .forklift.json, or set it to "native"; an existing stack of that engine is not touched.`}
	}
	return &fault.Error{Op: "choose runtime", Path: name, Kind: fault.Usage,
		Err: fmt.Errorf("there is no runtime %q", name), Hint: `"native" is the one that Forklift can use.`}
}
