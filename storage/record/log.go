package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// MaxLineBytes is the longest last line of a log that AppendLine looks at;
// a longer one cannot be a record of a log.
const MaxLineBytes = 16 << 20

// tailBytes is how much of a log's end is read at first.
const tailBytes = 4 << 10

// AppendLine adds a record at the end of the log name, which it makes when
// it is absent. Writers of one log must exclude each other.
//
// After nil the record is durable. After an error or a crash it is there
// whole, or the log ends with a torn line, which ReadLines passes over and
// the next AppendLine cuts off.
func AppendLine(fsys vfs.FS, name, kind string, format int, v any) error {
	data, err := Encode(kind, format, v)
	if err != nil {
		return err
	}
	if err := cutTorn(fsys, name, kind); err != nil {
		return err
	}
	return durable.Append(fsys, name, data, perm)
}

// cutTorn removes a torn last line. Only the last one can be torn, because
// the one before was durable before it was begun.
func cutTorn(fsys vfs.FS, name, kind string) error {
	last, size, err := lastLine(fsys, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(last) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := open(last, kind, math.MaxInt); !errors.Is(err, errTorn) {
		return nil
	}
	return durable.Truncate(fsys, name, size-int64(len(last)))
}

// lastLine reads the last line of a file, with or without a newline at its
// end, and the size of the file.
func lastLine(fsys vfs.FS, name string) (line []byte, size int64, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	for n := int64(tailBytes); ; n *= 8 {
		n = min(n, info.Size, MaxLineBytes+1)
		tail := make([]byte, n)
		if _, err := f.ReadAt(tail, info.Size-n); err != nil && err != io.EOF {
			return nil, 0, err
		}
		start := bytes.LastIndexByte(bytes.TrimSuffix(tail, []byte("\n")), '\n') + 1
		if start > 0 || n == info.Size {
			return tail[start:], info.Size, nil
		}
		if n > MaxLineBytes {
			return nil, 0, &fault.Error{Op: "read log", Path: name, Kind: fault.Corrupt, Err: fmt.Errorf("a line of more than %d bytes", MaxLineBytes)}
		}
	}
}

// ReadLines gives the bodies of the log name to fn, in order; fn's error
// ends it. A log of more than limit bytes, or with a bad line, is Corrupt,
// but a last line that was cut off while it was written is passed over. An
// absent log is fs.ErrNotExist.
func ReadLines(fsys vfs.FS, name, kind string, maxFormat int, limit int64, fn func(json.RawMessage) error) error {
	data, err := durable.ReadFile(fsys, name, limit)
	if err != nil {
		return err
	}
	for number := 1; len(data) > 0; number++ {
		one, rest := data, []byte(nil)
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			one, rest = data[:i+1], data[i+1:]
		}
		body, err := open(one, kind, maxFormat)
		if errors.Is(err, errTorn) && len(rest) == 0 {
			return nil
		}
		if err != nil {
			return at(name, &fault.Error{Op: fmt.Sprintf("read line %d", number), Kind: fault.KindOf(err), Err: err, Hint: fault.HintOf(err)})
		}
		if err := fn(body); err != nil {
			return err
		}
		data = rest
	}
	return nil
}
