// Package index finds the pack, frame and slot of a blob.
//
// An index file is immutable and named by its id. Numbers are little-endian.
//
//	header    16 bytes   magic "flindex\n", u32 version (1), u32 zero
//	entries   13 bytes each: the first 8 bytes of the blob's id, u32 frame number, u8 slot;
//	          sorted by those 8 bytes
//	frames    32 bytes each: u32 pack number, and the frame as package pack encodes it (28)
//	tail      u32 entries, u32 frames, u32 packs, u32 fan-out bits;
//	          packs     40 bytes each: id, u64 size of the file
//	          fan-out   2^bits+1 u32: number of the first entry whose id begins with at least these bits
//	          sums      16 bytes each: BLAKE3 of each block of 4096 entries, then of each block of 2048 frames
//	footer    64 bytes   u64 offset of the tail, u32 its length, u32 version (1), u64 zero,
//	                     32 bytes BLAKE3 of the tail, magic "\nflindex"
//
// The id of the file is the BLAKE3 of its tail; the tail holds the sums of
// everything else, so one small read at open, and then only the blocks that
// are looked at, verify all that is believed.
//
// Eight bytes of an id can belong to another blob. A hit is therefore only a
// place to look: the frame's rows in the pack have the full id.
//
// New captures add small files. [Choose] says which old ones the next file
// takes in, so that their sizes stay in geometric order and at most [MaxFiles]
// are live. The new file is made durable before the ones it holds are
// removed; a crash between the two leaves entries twice, which is harmless
// and goes away with the next merge.
package index
