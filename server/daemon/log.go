package daemon

import (
	"io"
	"os"
	"sync"

	"forklift/storage/vfs"
)

// maxLog is how large the log may get before it becomes the part before. Both
// together are at most twice as large.
const maxLog = 2 << 20

// logFile is a log of limited size. What cannot be written is lost: a full
// disk must not stop the daemon.
type logFile struct {
	disk vfs.FS
	name string

	mu   sync.Mutex
	f    vfs.File
	size int64
}

// openLog opens the log for more.
func openLog(disk vfs.FS, name string) (*logFile, error) {
	f, err := disk.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &logFile{disk: disk, name: name, f: f, size: info.Size}, nil
}

// Write appends to the log. It never fails.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > maxLog {
		l.turn()
	}
	n, _ := l.f.Write(p) // see the type
	l.size += int64(n)
	return len(p), nil
}

// turn copies the log to the part before and empties it. The open file stays:
// a crash of the program writes to it, too.
func (l *logFile) turn() {
	before, err := l.disk.OpenFile(l.name+".1", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, _ = io.Copy(before, io.NewSectionReader(l.f, 0, l.size)) // see the type
		_ = before.Close()
	}
	if l.f.Truncate(0) == nil {
		l.size = 0
	}
}

// takeStderr makes the log the place of what the program itself writes when
// it crashes.
func (l *logFile) takeStderr() error {
	if f, ok := l.f.(interface{ OSFile() *os.File }); ok {
		return replace(int(f.OSFile().Fd()), int(os.Stderr.Fd()))
	}
	return nil
}
