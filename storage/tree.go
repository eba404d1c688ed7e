package storage

import (
	"forklift/storage/vfs"
)

// Decision is what a scan does with a path.
type Decision struct {
	Action Action
	Reason string // for Omit; see Entry.Reason
}

// Action is the verb of a Decision.
type Action uint8

// The actions.
const (
	Keep Action = iota // into the manifest
	Skip               // as if it were not there, with all below it
	Omit               // recorded as Omitted, with all below it
	// KeepEmpty keeps a directory but none of what is in it.
	KeepEmpty
)

// Range is a stretch of a file, in bytes: [Off, End).
type Range struct {
	Off, End int64
}

// Rules say what of a tree is saved and how its files are cut.
type Rules struct {
	// Starts are the relative paths to walk; nil means the whole tree. The
	// directories that lead to a start are entries too. A start that is not
	// there is not an error: it is absent from the manifest.
	Starts []string
	// Filter is asked for every path below Starts, directories before what is in them.
	// nil keeps everything. Sockets, FIFOs and devices never reach it: they
	// are omitted.
	Filter func(path string, info vfs.Info) Decision
	// Zero lists the stretches of a file that are stored as zeros.
	Zero map[string][]Range
	// Unit is how regular files are cut.
	Unit Unit
	// Mtimes, Xattrs: whether entries keep them.
	Mtimes, Xattrs bool
	// Moving says that files may change or vanish during the scan (a
	// running server): a file that vanishes is left out, and one that cannot be trusted
	// is simply not remembered. Otherwise a file that changes between the
	// stats before and after its read is read again, and failing that is an error.
	Moving bool
}

// ScanStats counts what a scan did.
type ScanStats struct {
	Files      int   `json:"files"`
	Bytes      int64 `json:"bytes"`       // of all regular files in the manifest
	ReadFiles  int   `json:"read_files"`  // files that were opened
	ReadBytes  int64 `json:"read_bytes"`  // bytes that were read
	AddedBytes int64 `json:"added_bytes"` // compressed bytes that it wrote so far; Writer.AddedBytes is exact after Commit
}

// Tree is a scanned tree: what the manifest says, and what was left out.
type Tree struct {
	Manifest ID
	Stats    ScanStats
	Omitted  []Entry // every Omitted entry, in order
	Memory   *Memory // what to give the next scan of this tree
}

// PatchOptions say how a directory becomes a manifest's tree.
type PatchOptions struct {
	// Have is a manifest that the directory is proven to hold exactly; zero
	// means unknown: every file that could stay is read and compared.
	Have ID
	// Inexact names files that the directory holds otherwise than Have says
	// (a WAL segment whose unused tail the manifest keeps as zeros): they
	// are compared by reading, whatever Have says. nil is none.
	Inexact map[string]bool
	// Near is a directory that probably has much of the same content under the
	// same names, such as the slot that a server runs on: what has the right
	// hash there is copied, which is cheaper than reading it from the store. It
	// is only read, may change meanwhile, and stays the caller's; nil is none.
	Near vfs.Root
	// Verify reads back what was written: the share of patched pages that
	// is read again, 0 to 1; 1 also reads every page that stayed.
	Verify float64
}

// PatchStats counts what a patch did.
type PatchStats struct {
	Files        int   `json:"files"`         // files created or changed
	Removed      int   `json:"removed"`       // paths removed
	WrittenBytes int64 `json:"written_bytes"` // bytes written to the directory
	ReadBytes    int64 `json:"read_bytes"`    // bytes read from it
	NearBytes    int64 `json:"near_bytes"`    // of the written bytes, those taken from PatchOptions.Near
}
