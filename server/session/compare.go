package session

import (
	"bytes"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// compareSoon looks whether a document differs from the disk when it has been
// quiet for a moment.
func (s *session) compareSoon(d *document) {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	if s.docs.closing {
		return
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	var timer *time.Timer
	timer = time.AfterFunc(compareAfter, func() {
		s.docs.mu.Lock()
		if d.timer == timer {
			d.timer = nil
		}
		s.docs.mu.Unlock()
		s.compare(d)
	})
	d.timer = timer
}

// compare takes back that a document is unsaved when the disk has its text.
// That it differs says nothing: another program may have written the file.
func (s *session) compare(d *document) {
	s.docs.mu.Lock()
	text, changes, ask := d.text, d.changes, d.unsaved && !d.big && !s.docs.closing
	s.docs.mu.Unlock()
	if !ask || onDisk(d.path, text) != same {
		return // it stays what it is said to be
	}
	s.docs.mu.Lock()
	news := d.changes == changes && d.unsaved
	if news {
		d.unsaved = false
		s.docs.mark(d.tree, news)
	}
	s.docs.mu.Unlock()
	if news {
		s.saveUnsaved(d.tree)
		if d.diagnosed() {
			s.diagnoseSoon(d.tree)
		}
	}
}

// likeness is what a comparison of a buffer with the disk finds.
type likeness int

const (
	unknown likeness = iota // the file cannot be read, or has another encoding
	same
	other
)

// onDisk compares a buffer with the file; one that is not there is empty.
func onDisk(name, text string) likeness {
	data, err := readText(name)
	switch {
	case err != nil && !os.IsNotExist(err), err == nil && !utf8.Valid(data):
		return unknown
	case sameText(string(data), text):
		return same
	}
	return other
}

// readText reads a file that may be compared.
func readText(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDocument {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(name)
}

// sameText compares what is on disk with a buffer. Editors keep the byte order
// mark, the ends of lines and the last of them aside.
func sameText(disk, buffer string) bool {
	return disk == buffer || even(disk) == even(buffer)
}

func even(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	return strings.TrimRight(string(bytes.ReplaceAll([]byte(text), []byte("\r\n"), []byte("\n"))), "\n")
}

// typedOn reports that a document that was saved just now has changes behind
// the save; docs.mu is held.
func (s *session) typedOn(d *document) bool {
	return !d.big && s.hub.opt.Clock.Now().Sub(d.changed) < savingFor && onDisk(d.path, d.text) == other
}
