package commands

import (
	"context"
	"runtime"
	"runtime/debug"
)

// Version is the version of this program; a release sets it when it links.
var Version = "0.1.0-dev"

// VersionRequest asks which program this is.
type VersionRequest struct{}

// VersionResult says which program this is.
type VersionResult struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // of the source, if the build recorded it
	Dirty   bool   `json:"dirty,omitempty"`  // the source was changed since
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

var versionVerb = NewVerb(Verb{
	Name: "version", Group: GroupMachine, ReadOnly: true, Alone: true,
	Short:    "Print the version of forklift",
	Examples: []Example{{"forklift version", ""}},
}, ShowVersion)

// ShowVersion tells the version that was linked in.
func ShowVersion(context.Context, Env, VersionRequest) (VersionResult, error) {
	r := VersionResult{Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				r.Commit = s.Value
			case "vcs.modified":
				r.Dirty = s.Value == "true"
			}
		}
	}
	return r, nil
}
