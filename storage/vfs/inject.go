package vfs

import (
	"regexp"
	"sync"
)

// Rule says which call of a file system fails, and how.
type Rule struct {
	// Match picks the calls that are counted; nil takes all that change
	// something.
	Match func(Call) bool
	// Nth is which of them fails, from 1. 0 fails none: the calls are only
	// counted.
	Nth int
	// Err is what it fails with, such as syscall.EIO, or a *ShortWrite.
	Err error
	// Sticky lets all later ones fail too, as a full disk does.
	Sticky bool
}

// Injected is a file system with an injected error. Make one with [Inject].
type Injected struct {
	FS
	rule   Rule
	mu     sync.Mutex
	calls  int
	failed []Call
}

// Inject gives a file system that works as base until rule lets calls fail.
// A call that fails does not reach base, but see ShortWrite.
func Inject(base FS, rule Rule) *Injected {
	i := &Injected{rule: rule}
	i.FS = Hook(base, i.before)
	return i
}

func (i *Injected) before(c Call) error {
	if i.rule.Match == nil {
		if !c.Op.Changes() {
			return nil
		}
	} else if !i.rule.Match(c) {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls++
	if i.rule.Nth > 0 && (i.calls == i.rule.Nth || i.rule.Sticky && i.calls > i.rule.Nth) {
		i.failed = append(i.failed, c)
		return i.rule.Err
	}
	return nil
}

// Calls is how many calls matched the rule so far.
func (i *Injected) Calls() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls
}

// Failed lists the calls that failed so far.
func (i *Injected) Failed() []Call {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Call(nil), i.failed...)
}

// tempName is the random part of a temporary file's name (package durable).
var tempName = regexp.MustCompile(`\.tmp-[0-9a-f]{16}`)

// Log gives a file system that hands a line to line before each call of base
// that changes something: Call.String, with the random part of temporary
// names replaced by "*" so that the lines can be compared with a stored
// list.
func Log(base FS, line func(string)) FS {
	return Hook(base, func(c Call) error {
		if c.Op.Changes() {
			line(tempName.ReplaceAllString(c.String(), ".tmp-*"))
		}
		return nil
	})
}
