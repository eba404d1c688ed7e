package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// followPoll is how often a log that is followed is looked at.
const followPoll = 200 * time.Millisecond

// LastLines gives the last lines of the log, at most n, and the place behind
// them. A log that is not there has none.
func LastLines(disk vfs.FS, name string, n int) (lines []string, end int64, err error) {
	var text []byte
	for _, part := range []string{name + ".1", name} {
		data, err := readFrom(disk, part, 0)
		if err != nil {
			return nil, 0, err
		}
		text, end = append(text, data...), int64(len(data))
	}
	lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) == 0 {
		lines = nil
	}
	return lines[max(0, len(lines)-n):], end, nil
}

// readFrom reads a part of the log from a place on; a file that is not there
// is empty.
func readFrom(disk vfs.FS, name string, from int64) ([]byte, error) {
	f, err := disk.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("read the log", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, from, 2*maxLog))
	return data, fault.Wrap("read the log", name, err)
}

// FollowLog writes what is added to the log behind a place, line by line, until
// ctx ends.
func FollowLog(ctx context.Context, disk vfs.FS, name string, end int64, w io.Writer) error {
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if info, err := disk.Lstat(name); err == nil && info.Size < end {
			end = 0 // it was emptied; what was in between is in the part before
		}
		data, err := readFrom(disk, name, end)
		if err != nil {
			return err
		}
		whole := data[:bytes.LastIndexByte(data, '\n')+1]
		end += int64(len(whole))
		if _, err := w.Write(whole); err != nil {
			return fmt.Errorf("write the log: %w", err)
		}
	}
}
