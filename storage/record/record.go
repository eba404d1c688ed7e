// Package record stores small JSON records that know when they are damaged.
//
// A record is one line:
//
//	{"kind":"journal","format":1,"blake3":"<64 hex digits>","body":{...}}
//
// The sum is BLAKE3 of the body's bytes as they stand there. A reader accepts
// only exactly the bytes that [Encode] would give, so every changed bit is
// noticed, also one outside the body. It refuses a format newer than the one
// it knows by name, and a body with a field that it does not know: a record
// is what recovery acts on, and must not be half understood.
//
// Records live in a file of their own ([Write], [Create], [Read]) or in a
// log, one per line ([AppendLine], [ReadLines]). All files have mode 0600.
//
// JSON strings cannot hold bytes that are not UTF-8: what may have any bytes,
// such as the path of a source file, is a []byte in the body.
package record

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"

	"github.com/zeebo/blake3"
)

// MaxBytes is the size up to which a record file is read. The largest
// records are those with one entry per table or per file of an operation.
const MaxBytes = 64 << 20

// perm is the mode of record files.
const perm = 0o600

// envelope is the line around a body. The order of fields is the format.
type envelope struct {
	Kind   string          `json:"kind"`
	Format int             `json:"format"`
	Blake3 string          `json:"blake3"`
	Body   json.RawMessage `json:"body"`
}

// errTorn marks a line that is not what Encode gives: damaged, or the torn
// end of a log.
var errTorn = errors.New("the checksum does not fit the content")

// Encode gives the line for v, with its newline. format is the version of
// v's shape, from 1.
func Encode(kind string, format int, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s record: %w", kind, err)
	}
	return line(kind, format, body)
}

// line puts the envelope around a body.
func line(kind string, format int, body []byte) ([]byte, error) {
	sum := blake3.Sum256(body)
	data, err := json.Marshal(envelope{kind, format, hex.EncodeToString(sum[:]), body})
	if err != nil {
		return nil, fmt.Errorf("encode %s record: %w", kind, err)
	}
	return append(data, '\n'), nil
}

// Decode reads the line of Encode into v. Damage, another kind and unknown
// fields are faults of kind Corrupt; a format over maxFormat is Unsupported.
func Decode(data []byte, kind string, maxFormat int, v any) error {
	body, err := open(data, kind, maxFormat)
	if err != nil {
		return err
	}
	return decodeBody(body, kind, v)
}

// open checks everything around the body, and its sum.
func open(data []byte, kind string, maxFormat int) (json.RawMessage, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, corrupt(kind, errTorn)
	}
	if e.Kind == kind && e.Format > maxFormat {
		return nil, &fault.Error{Op: "read " + kind + " record", Kind: fault.Unsupported,
			Err:  fmt.Errorf("format %d was written by a newer Forklift", e.Format),
			Hint: "Use a newer version of forklift."}
	}
	again, err := line(e.Kind, e.Format, e.Body)
	if err != nil || !bytes.Equal(again, data) {
		return nil, corrupt(kind, errTorn)
	}
	if e.Kind != kind {
		return nil, corrupt(kind, fmt.Errorf("it is a record of kind %q", e.Kind))
	}
	if e.Format < 1 {
		return nil, corrupt(kind, fmt.Errorf("format %d does not exist", e.Format))
	}
	return e.Body, nil
}

func decodeBody(body []byte, kind string, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return corrupt(kind, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return corrupt(kind, errors.New("more than one value"))
	}
	return nil
}

func corrupt(kind string, err error) error {
	return &fault.Error{Op: "read " + kind + " record", Kind: fault.Corrupt, Err: err}
}

// at puts the file's name into an error of this package.
func at(name string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Path == "" {
		f.Path = name
	}
	return err
}

// Write stores v in the file name, replacing it; states after nil, error and
// crash are those of durable.WriteFile.
func Write(fsys vfs.FS, name, kind string, format int, v any) error {
	data, err := Encode(kind, format, v)
	if err != nil {
		return err
	}
	return durable.WriteFile(fsys, name, data, perm)
}

// Create stores v in the new file name, fs.ErrExist if there is one; states
// are those of durable.CreateFile.
func Create(fsys vfs.FS, name, kind string, format int, v any) error {
	data, err := Encode(kind, format, v)
	if err != nil {
		return err
	}
	return durable.CreateFile(fsys, name, data, perm)
}

// Read reads the file name into v. An absent file is fs.ErrNotExist; other
// errors are those of Decode, with the name.
func Read(fsys vfs.FS, name, kind string, maxFormat int, v any) error {
	data, err := durable.ReadFile(fsys, name, MaxBytes)
	if err != nil {
		return err
	}
	return at(name, Decode(data, kind, maxFormat, v))
}
