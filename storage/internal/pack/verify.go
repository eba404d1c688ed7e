package pack

import (
	"context"
	"fmt"

	"github.com/zeebo/blake3"
	"golang.org/x/sync/errgroup"
)

// verifyWorkers is how many frames are decoded at once: design for two cores.
const verifyWorkers = 2

// Verify reads every byte of the pack: the whole has the hash want, the
// table is right, and every blob of every frame has its hash. It gives what
// the table holds.
func (r *Reader) Verify(ctx context.Context, want ID) (Summary, error) {
	frames, rows, err := r.Table()
	if err != nil {
		return Summary{}, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.verifyWhole(ctx, want) })
	step := (len(frames) + verifyWorkers - 1) / verifyWorkers
	at := 0
	for i := 0; i < len(frames); i += step {
		part := frames[i:min(i+step, len(frames))]
		from := rows[at:]
		for _, f := range part {
			at += int(f.Blobs)
		}
		g.Go(func() error { return r.verifyFrames(ctx, part, from) })
	}
	if err := g.Wait(); err != nil {
		return Summary{}, err
	}
	return Summary{ID: want, Bytes: r.size, Frames: frames, Rows: rows}, nil
}

// verifyWhole hashes the file.
func (r *Reader) verifyWhole(ctx context.Context, want ID) error {
	sum := blake3.New()
	buf := make([]byte, FrameBytes)
	for at := int64(0); at < r.size; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		buf = buf[:min(int64(len(buf)), r.size-at)]
		if err := r.readAt(buf, at); err != nil {
			return err
		}
		_, _ = sum.Write(buf)
	}
	var got ID
	_, _ = sum.Digest().Read(got[:])
	if got != want {
		return damaged(r.name, fmt.Errorf("the pack has other content than its name says"))
	}
	return nil
}

// verifyFrames decodes frames, whose rows begin at rows[0], and hashes their
// blobs.
func (r *Reader) verifyFrames(ctx context.Context, frames []Frame, rows []Row) error {
	var buf Buffer
	for _, f := range frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := r.Frame(f, &buf)
		if err != nil {
			return err
		}
		own := rows[:f.Blobs]
		rows = rows[f.Blobs:]
		for _, row := range own {
			blob := data[:row.Bytes]
			data = data[row.Bytes:]
			if Sum(blob) != row.ID {
				return damaged(r.name, fmt.Errorf("blob %x has other content than its name says", row.ID))
			}
		}
	}
	return nil
}
