package vfs

// Op names a kind of call, in failpoints, in [Call] and in logs.
type Op string

// The calls that change something. Mem counts them, failpoints precede them.
const (
	OpCreate   Op = "create" // OpenFile that may create; a Lock that creates its file
	OpWrite    Op = "write"
	OpTruncate Op = "truncate" // also OpenFile with os.O_TRUNC alone
	OpSync     Op = "sync"     // of an open file
	OpMkdir    Op = "mkdir"
	OpRemove   Op = "remove"
	OpRename   Op = "rename"
	OpLink     Op = "link"
	OpSymlink  Op = "symlink"
	OpChmod    Op = "chmod"
	OpChown    Op = "chown"
	OpUtimes   Op = "utimes"
	OpSetXattr Op = "setxattr"
	OpSyncDir  Op = "syncdir"
	OpSyncFS   Op = "syncfs"
)

// The calls that only read.
const (
	OpOpen     Op = "open"
	OpRead     Op = "read"
	OpStat     Op = "stat" // of an open file
	OpLstat    Op = "lstat"
	OpReadDir  Op = "readdir"
	OpReadlink Op = "readlink"
	OpXattrs   Op = "xattrs"
	OpSpace    Op = "space"
	OpLock     Op = "lock"
	OpOpenRoot Op = "openroot"
)

// Changes says whether calls of this kind change something.
func (o Op) Changes() bool {
	switch o {
	case OpCreate, OpWrite, OpTruncate, OpSync, OpMkdir, OpRemove, OpRename, OpLink, OpSymlink,
		OpChmod, OpChown, OpUtimes, OpSetXattr, OpSyncDir, OpSyncFS:
		return true
	}
	return false
}
