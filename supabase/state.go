package supabase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"forklift/engine"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

const (
	maxStateBytes = 4 << 20

	// versionName describes the rest of the captured state.
	versionName   = "forklift.json"
	versionKind   = "supabase-state"
	versionFormat = 1
)

// Marks that stand in a captured state for what is the branch's own, so that
// the state of one worktree is that of any other.
const (
	markID       = "@forklift-stack@"
	markNumber   = "@forklift-database@"
	markProject  = "@forklift-project@"
	markHome     = "@forklift-home@"
	markEndpoint = "@forklift-port-%s@"
)

// capturedVersion says what wrote a captured state.
type capturedVersion struct {
	CLI     string `json:"cli"` // version
	Runtime string `json:"runtime"`
	// Values is what the CLI's status showed, with marks for the ports.
	Values map[string]string `json:"values"`
}

// document is the stack's state.json, as far as Forklift looks at it.
type document struct {
	text     []byte
	id       string
	database string // number of the database's instance
	runtime  string
}

// parseState reads a state.json and checks the layout that Forklift knows.
func parseState(name string, text []byte) (*document, error) {
	var d struct {
		ID        string `json:"id"`
		Runtime   string `json:"runtime"`
		Instances []struct {
			ID       string `json:"id"`
			Creation struct {
				Service string `json:"service"`
			} `json:"creation"`
		} `json:"instances"`
	}
	bad := func(err error) error {
		return &fault.Error{Op: "read the stack's state", Path: name, Kind: fault.Unsupported, Err: err,
			Hint: "Use Supabase CLI " + tested + ", the version that Forklift was tested with."}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, bad(err)
	}
	doc := &document{text: text, id: d.ID, runtime: d.Runtime}
	for _, i := range d.Instances {
		if i.Creation.Service != "database" {
			continue
		}
		if doc.database != "" {
			return nil, bad(errors.New("the stack has two databases"))
		}
		if i.ID == "" || strings.ContainsAny(i.ID, "/\\") || strings.HasPrefix(i.ID, ".") {
			return nil, bad(fmt.Errorf("%q is no name of an instance", i.ID))
		}
		doc.database = i.ID
	}
	if doc.database == "" {
		return nil, bad(errors.New("the stack has no database"))
	}
	return doc, nil
}

// readState reads the state.json that the CLI works with in a slot; nil when
// there is none, or when it is what the slot held before it was filled anew.
func (s *stack) readState(slot engine.Slot) (*document, error) {
	if _, err := s.fs.Lstat(path.Join(s.captured(slot), stateName)); err == nil {
		return nil, nil
	}
	name := path.Join(s.stackDir(slot), stateName)
	text, err := durable.ReadFile(s.fs, name, maxStateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("read the stack's state", name, err)
	}
	return parseState(name, text)
}

// jsonText is a text as it stands inside of a JSON string.
func jsonText(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string cannot fail
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// places are what of a state is the branch's own, longest first, with the mark
// that takes its place in a capture.
func (s *stack) places(slot engine.Slot, number string) [][2]string {
	return [][2]string{
		{jsonText(s.home(slot)), markHome},
		{jsonText(s.overlay.dir), markProject},
		{s.id, markID},
		{number, markNumber},
	}
}

// toCaptured takes what is the branch's own out of a state.
func (s *stack) toCaptured(slot engine.Slot, doc *document) []byte {
	text := doc.text
	for _, p := range s.places(slot, doc.database) {
		text = bytes.ReplaceAll(text, []byte(p[0]), []byte(p[1]))
	}
	return text
}

// fromCaptured puts what is the branch's own into a captured state.
func (s *stack) fromCaptured(slot engine.Slot, text []byte) []byte {
	for _, p := range s.places(slot, s.number) {
		text = bytes.ReplaceAll(text, []byte(p[1]), []byte(p[0]))
	}
	return text
}

// materialise makes the state.json that the CLI works with from the captured
// one. From then on that counts, and what was captured is stale: its removal is
// what says so. A slot without a captured state has a state already, or gets a
// new one from the CLI.
func (s *stack) materialise(slot engine.Slot) error {
	from := path.Join(s.captured(slot), stateName)
	text, err := durable.ReadFile(s.fs, from, maxStateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap("read captured state", from, err)
	}
	to := path.Join(s.stackDir(slot), stateName)
	if err := durable.WriteFile(s.fs, to, s.fromCaptured(slot, text), 0o600); err != nil {
		return fault.Wrap("write the stack's state", to, err)
	}
	return fault.Wrap("remove", from, durable.Remove(s.fs, from))
}

// harvest makes the captured state from the one that the CLI has left, which
// is at rest, and gives the database's directory the branch's number. Killed
// anywhere it is done again; when it returns nil all is durable.
func (s *stack) harvest(slot engine.Slot) error {
	doc, err := s.readState(slot)
	if err != nil || doc == nil {
		return err
	}
	if doc.id != s.id {
		return &fault.Error{Op: "read the stack's state", Path: s.stackDir(slot), Kind: fault.Unsupported, Err: fmt.Errorf("it is of the stack %s", doc.id),
			Hint: "Use Supabase CLI " + tested + ", the version that Forklift was tested with."}
	}
	if err := s.rename(slot, doc); err != nil {
		return err
	}
	if err := durable.MkdirAll(s.fs, s.uploads(slot), 0o700); err != nil {
		return fault.Wrap("make directory", s.uploads(slot), err)
	}
	dir := s.captured(slot)
	if err := durable.MkdirAll(s.fs, dir, 0o700); err != nil {
		return fault.Wrap("make directory", dir, err)
	}
	for from, limit := range map[string]int64{lockName: maxLockBytes, configName: maxConfigBytes} {
		text, err := durable.ReadFile(s.fs, path.Join(s.overlay.dir, from), limit)
		if errors.Is(err, fs.ErrNotExist) {
			continue // what was captured before holds
		}
		if err != nil {
			return fault.Wrap("read overlay", path.Join(s.overlay.dir, from), err)
		}
		if from == configName {
			text = withoutOwnPorts(text)
		}
		if err := put(s.fs, path.Join(dir, path.Base(from)), text, 0o600); err != nil {
			return err
		}
	}
	if err := s.captureVersion(slot, doc); err != nil {
		return err
	}
	// The last one: with it the captured state counts.
	name := path.Join(dir, stateName)
	return fault.Wrap("write captured state", name, durable.WriteFile(s.fs, name, s.toCaptured(slot, doc), 0o600))
}

// captureVersion writes what describes the captured state. Without a record of
// the slot's last start, which was killed, what describes it still holds.
func (s *stack) captureVersion(slot engine.Slot, doc *document) error {
	l := s.launchRecord()
	if l == nil || l.Slot != slot {
		return nil
	}
	p, err := s.ports()
	if err != nil {
		return err
	}
	version := capturedVersion{CLI: l.CLI.Version, Runtime: doc.runtime, Values: make(map[string]string, len(l.Values))}
	for name, text := range l.Values {
		version.Values[name] = p.mark(text)
	}
	data, err := record.Encode(versionKind, versionFormat, version)
	if err != nil {
		return err
	}
	return put(s.fs, path.Join(s.captured(slot), versionName), data, 0o600)
}

// rename gives the database's directory the branch's number, in place of the
// one that the CLI chose when it made it.
func (s *stack) rename(slot engine.Slot, doc *document) error {
	if doc.database == s.number {
		return nil
	}
	base := path.Join(s.stackDir(slot), dataDir)
	from, to := path.Join(base, doc.database), path.Join(base, s.number)
	if _, err := s.fs.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil // it was killed behind the rename
	}
	if err := durable.RemoveAll(s.fs, to); err != nil {
		return fault.Wrap("remove", to, err)
	}
	return fault.Wrap("rename", from, durable.Rename(s.fs, from, to))
}

// capturedFile reads a file of the captured state; nil when it is not there.
func (s *stack) capturedFile(slot engine.Slot, name string, limit int64) ([]byte, error) {
	text, err := durable.ReadFile(s.fs, path.Join(s.captured(slot), name), limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, fault.Wrap("read captured state", path.Join(s.captured(slot), name), err)
}
