package supabase

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"forklift/engine"
	"forklift/storage/durable"
	"forklift/storage/fault"
)

// Names in a slot, which is a SUPABASE_HOME.
const (
	stacksDir   = "stacks"
	cacheLink   = "cache"
	stateDir    = "forklift"
	dataDir     = "data"
	uploadsDir  = "uploads"
	clusterDir  = "data" // PGDATA, in the database's directory
	stateName   = "state.json"
	ownerName   = "owner.json"
	homeLink    = "home"           // in run: leads to the slot that was started last
	sharedCache = "supabase-cache" // in the store: the services of all stacks
)

// home is the SUPABASE_HOME of a slot.
func (s *stack) home(slot engine.Slot) string { return s.branch.SlotDir(slot) }

// stackDir is the directory of the stack in a slot.
func (s *stack) stackDir(slot engine.Slot) string {
	return path.Join(s.home(slot), stacksDir, s.id)
}

// uploads is where Storage keeps its files.
func (s *stack) uploads(slot engine.Slot) string { return path.Join(s.stackDir(slot), uploadsDir) }

// captured is the directory with what of the stack's settings is saved.
func (s *stack) captured(slot engine.Slot) string { return path.Join(s.home(slot), stateDir) }

// database is the directory of the database's instance in a slot: under the
// branch's own number, and between a start that made it and the stop behind
// it under the one that the CLI chose.
func (s *stack) database(slot engine.Slot) string {
	number := s.number
	if doc, err := s.readState(slot); err == nil && doc != nil && doc.database != "" {
		number = doc.database
	}
	return path.Join(s.stackDir(slot), dataDir, number)
}

// cluster is PGDATA.
func (s *stack) cluster(slot engine.Slot) string { return path.Join(s.database(slot), clusterDir) }

// instanceNumber is the number that a branch's database instance is called by,
// the same for both slots: a UUID made of the branch's id.
func instanceNumber(branch string) string {
	sum := sha256.Sum256([]byte("forklift database instance\x00" + branch))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // version 4, the usual variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// prepareHome makes what the CLI needs to find in a slot: the directories, and
// the link to the cache that all stacks of the store share.
func (s *stack) prepareHome(slot engine.Slot) error {
	cache := path.Join(path.Dir(path.Dir(s.branch.Dir)), sharedCache)
	for _, dir := range []string{cache, s.uploads(slot), s.captured(slot)} {
		if err := durable.MkdirAll(s.fs, dir, 0o700); err != nil {
			return fault.Wrap("make directory", dir, err)
		}
	}
	link := path.Join(s.home(slot), cacheLink)
	if to, err := s.fs.Readlink(link); err == nil && to == cache {
		return nil
	}
	if _, err := s.fs.Lstat(link); !errors.Is(err, fs.ErrNotExist) {
		if err := durable.RemoveAll(s.fs, link); err != nil {
			return fault.Wrap("remove", link, err)
		}
	}
	return fault.Wrap("link to the cache", link, s.fs.Symlink(cache, link))
}

// pointHome makes the link lead to a slot: what commands are given as
// SUPABASE_HOME stays right when a restore goes to the other slot.
func (s *stack) pointHome(slot engine.Slot) error {
	link, to := s.runFile(homeLink), s.home(slot)
	if now, err := s.fs.Readlink(link); err == nil && now == to {
		return nil
	}
	temp := s.runFile(durable.TempName())
	if err := s.fs.Symlink(to, temp); err != nil {
		return fault.Wrap("link to the slot", link, err)
	}
	return fault.Wrap("link to the slot", link, durable.Rename(s.fs, temp, link))
}

// stackID is what the name of a stack's directory looks like.
var stackID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// follow gives the directories of a stack the id that belongs to the place of
// its overlay: the store may have been moved since they were made.
func (s *stack) follow() error {
	for _, slot := range [...]engine.Slot{engine.SlotA, engine.SlotB} {
		dir := path.Join(s.home(slot), stacksDir)
		entries, err := s.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fault.Wrap("look at stacks", dir, err)
		}
		var old []string
		for _, e := range entries {
			if e.Type.IsDir() && stackID.MatchString(e.Name) {
				old = append(old, e.Name)
			}
		}
		if len(old) != 1 || old[0] == s.id {
			continue
		}
		if err := s.rewrite(slot, path.Join(dir, old[0], stateName), old[0]); err != nil {
			return err
		}
		if err := durable.Rename(s.fs, path.Join(dir, old[0]), s.stackDir(slot)); err != nil {
			return fault.Wrap("rename", path.Join(dir, old[0]), err)
		}
	}
	return nil
}

// rewrite makes the state.json of a stack that was elsewhere this one's. A
// captured state, if there is one, takes its place anyway.
func (s *stack) rewrite(slot engine.Slot, name, old string) error {
	text, err := durable.ReadFile(s.fs, name, maxStateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap("read the stack's state", name, err)
	}
	var d struct {
		Identity identity `json:"identity"`
	}
	if err := json.Unmarshal(text, &d); err != nil || d.Identity.ProjectRoot == "" {
		return nil // the start will say what is wrong with it
	}
	was := path.Dir(path.Dir(d.Identity.ProjectRoot)) // the branch's directory
	for _, p := range [][2]string{{jsonText(was), jsonText(path.Dir(path.Dir(s.overlay.dir)))}, {old, s.id}} {
		text = bytes.ReplaceAll(text, []byte(p[0]), []byte(p[1]))
	}
	return fault.Wrap("write the stack's state", name, durable.WriteFile(s.fs, name, text, 0o600))
}
