package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"forklift/storage/progress"
)

// The meter looks at the work every meterTick and shows itself from the
// meterDelay-th look on: what takes less than half a second needs none.
const (
	meterTick  = 100 * time.Millisecond
	meterDelay = 5
)

// meter shows progress as one line on a terminal, which it takes away when
// the work is done. A nil meter shows nothing.
type meter struct {
	out   io.Writer
	width func() int
	verb  string
	quit  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	event  progress.Event
	active int    // looks since the work began; 0: there is none
	shown  string // the line on the terminal; "" for none
}

// newMeter starts a meter if out is a terminal.
func newMeter(out io.Writer, isTerminal bool, width func() int, verb string) *meter {
	if !isTerminal {
		return nil
	}
	m := &meter{out: out, width: width, verb: verb, quit: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(meterTick)
		defer ticker.Stop()
		for {
			select {
			case <-m.quit:
				return
			case <-ticker.C:
				m.look()
			}
		}
	}()
	return m
}

// Report takes an event; one without a phase ends the display at once.
func (m *meter) Report(e progress.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.event = e
	if e.Phase == "" {
		m.clear()
	} else if m.active == 0 {
		m.active = 1
	}
}

// look shows the present state, if the work takes long enough.
func (m *meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active == 0 {
		return
	}
	m.active++
	if m.active <= meterDelay {
		return
	}
	if line := meterLine(m.verb, m.event, m.width()); line != m.shown {
		fmt.Fprint(m.out, "\r\x1b[K"+line)
		m.shown = line
	}
}

// clear takes the line away. The lock is held.
func (m *meter) clear() {
	if m.shown != "" {
		fmt.Fprint(m.out, "\r\x1b[K")
	}
	m.active, m.shown = 0, ""
}

// stop ends the meter; it may be called again.
func (m *meter) stop() {
	if m == nil {
		return
	}
	m.once.Do(func() { close(m.quit) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
}

// barWidth is the width of the bar between the brackets.
const barWidth = 20

// meterLine is the line for an event, cut to the width of the terminal.
func meterLine(verb string, e progress.Event, width int) string {
	parts := []string{verb + ": " + plain(e.Phase)}
	switch {
	case e.TotalBytes > 0:
		parts = append(parts, fmt.Sprintf("%s of %s", formatBytes(e.DoneBytes), formatBytes(e.TotalBytes)))
	case e.DoneBytes > 0:
		parts = append(parts, formatBytes(e.DoneBytes))
	}
	switch {
	case e.TotalFiles > 0:
		parts = append(parts, fmt.Sprintf("%s of %s files", formatCount(e.DoneFiles), formatCount(e.TotalFiles)))
	case e.DoneFiles > 0:
		parts = append(parts, formatCount(e.DoneFiles)+" files")
	}
	if share := shareOf(e); share >= 0 {
		full := int(share * barWidth)
		parts = append(parts, fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), share*100))
	}
	line := []rune(strings.Join(parts, "  "))
	return string(line[:min(len(line), max(width-1, 1))])
}

// shareOf is how much of the work is done, 0 to 1; -1 if nobody knows.
func shareOf(e progress.Event) float64 {
	switch {
	case e.TotalBytes > 0:
		return min(max(float64(e.DoneBytes)/float64(e.TotalBytes), 0), 1)
	case e.TotalFiles > 0:
		return min(max(float64(e.DoneFiles)/float64(e.TotalFiles), 0), 1)
	}
	return -1
}
