package storage

// leaf is a blob of a file.
type leaf struct {
	off   int64
	bytes int
	id    ID
}

// leaves calls yield for each blob of a file of size bytes, in order.
func (s *Store) leaves(c Content, size int64, yield func(leaf) error) error {
	if err := validContent(c, size); err != nil {
		return corrupt("read content", c.Root.String(), "%w", err)
	}
	if size == 0 {
		return nil
	}
	return s.leavesBelow(contentRef{c.Root, size}, c.Unit, c.Depth, 0, yield)
}

func (s *Store) leavesBelow(ref contentRef, unit Unit, depth uint8, off int64, yield func(leaf) error) error {
	if depth == 0 {
		return yield(leaf{off: off, bytes: int(ref.bytes), id: ref.id})
	}
	refs, err := s.contentNode(ref, unit, depth)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if err := s.leavesBelow(r, unit, depth-1, off, yield); err != nil {
			return err
		}
		off += r.bytes
	}
	return nil
}

// contentNode reads one node.
func (s *Store) contentNode(ref contentRef, unit Unit, depth uint8) ([]contentRef, error) {
	data, err := s.blobs.get(ref.id)
	if err != nil {
		return nil, err
	}
	refs, err := decodeContent(data, unit, depth, ref.bytes)
	if err != nil {
		return nil, badNode(ref.id, err)
	}
	return refs, nil
}

// spans gives the nodes of depth 1 of a file, in order.
func (s *Store) spans(c Content, size int64) ([]contentRef, error) {
	if validContent(c, size) != nil || c.Depth == 0 {
		return nil, nil
	}
	refs := []contentRef{{c.Root, size}}
	for depth := c.Depth; depth > 1; depth-- {
		var below []contentRef
		for _, r := range refs {
			children, err := s.contentNode(r, c.Unit, depth)
			if err != nil {
				return nil, err
			}
			below = append(below, children...)
		}
		refs = below
	}
	return refs, nil
}

// pageLeaves calls yield for the pages of want that differ from those of have at
// the same place, where both are cut into pages. Nodes that are equal are not read.
func (s *Store) pageLeaves(want Content, size int64, have Content, haveSize int64, yield func(leaf) error) error {
	if err := validContent(want, size); err != nil {
		return corrupt("read content", want.Root.String(), "%w", err)
	}
	if size == 0 {
		return nil
	}
	if validContent(have, haveSize) != nil || have.Unit != Pages || want.Unit != Pages {
		return s.leaves(want, size, yield)
	}
	return s.diffPages(contentRef{want.Root, size}, want.Depth, contentRef{have.Root, haveSize}, have.Depth, 0, yield)
}

// diffPages compares what is below two references that begin at the same
// place. have can be the zero reference: nothing is known to be there.
func (s *Store) diffPages(want contentRef, depth uint8, have contentRef, haveDepth uint8, off int64, yield func(leaf) error) error {
	switch {
	case have.id == want.id && haveDepth == depth && have.bytes == want.bytes:
		return nil
	case have.bytes == 0 || depth == 0 && haveDepth == 0:
		return s.leavesBelow(want, Pages, depth, off, yield)
	}
	wants, haves := []contentRef{want}, []contentRef{have}
	var err error
	wantDepth, below := depth, depth
	if depth >= haveDepth {
		if wants, err = s.contentNode(want, Pages, depth); err != nil {
			return err
		}
		below = depth - 1
	}
	haveBelow := haveDepth
	if haveDepth >= wantDepth {
		if haves, err = s.contentNode(have, Pages, haveDepth); err != nil {
			return err
		}
		haveBelow = haveDepth - 1
	}
	for i, w := range wants {
		var h contentRef
		if i < len(haves) {
			h = haves[i]
		}
		if err := s.diffPages(w, below, h, haveBelow, off, yield); err != nil {
			return err
		}
		off += w.bytes
	}
	return nil
}
