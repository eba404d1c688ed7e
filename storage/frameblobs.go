package storage

import (
	"forklift/storage/internal/pack"
)

// blobData is a blob with its bytes.
type blobData struct {
	id   ID
	data []byte
}

// frameBlobs reads the marked blobs of a frame and verifies each.
func (b *blobs) frameBlobs(id ID, f *frameMarks) ([]blobData, error) {
	r, err := b.packs.open(id)
	if err != nil {
		return nil, err
	}
	defer b.packs.release(id)
	rows, err := r.Rows(f.Frame)
	if err != nil {
		return nil, err
	}
	var buf pack.Buffer
	data, err := r.Frame(f.Frame, &buf)
	if err != nil {
		return nil, err
	}
	var found []blobData
	for slot, row := range rows {
		if !f.isUsed(slot) {
			continue
		}
		blob, err := pack.Blob(packName(b.dir, id), data, rows, slot)
		if err != nil {
			return nil, err
		}
		found = append(found, blobData{row.ID, blob})
	}
	return found, nil
}
