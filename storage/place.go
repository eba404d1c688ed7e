package storage

import (
	"forklift/storage/internal/fskind"
	"forklift/storage/vfs"
)

// Place is what a directory's file system means for a store.
type Place struct {
	FileSystem string `json:"file_system"` // in words: "a local disk", "a network file system"
	Refused    bool   `json:"refused"`     // no store is opened there
	Memory     bool   `json:"memory"`      // what is there is gone after a restart
}

// PlaceOf tells what a directory is on; it changes nothing.
func PlaceOf(fsys vfs.FS, dir string) Place {
	kind := fskind.OfDir(fsys, dir+"/.")
	return Place{FileSystem: kind.String(), Refused: kind == fskind.Network || kind == fskind.User, Memory: kind == fskind.Memory}
}
