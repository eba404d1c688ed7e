package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// MaxLogBytes is the size up to which AppendLine reads a log to find its
// torn end.
const MaxLogBytes = 256 << 20

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
	data, err := durable.ReadFile(fsys, name, MaxLogBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	last := data[lastLine(data):]
	if len(last) == 0 {
		return nil
	}
	if _, err := open(last, kind, int(^uint(0)>>1)); !errors.Is(err, errTorn) {
		return nil
	}
	return durable.Truncate(fsys, name, int64(len(data)-len(last)))
}

// lastLine is where the last line begins, one without a newline included.
func lastLine(data []byte) int {
	return bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
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
