// Package pack reads and writes packs: immutable files that hold blobs.
//
// A pack is named by the BLAKE3-256 of all its bytes. Numbers are
// little-endian.
//
//	header   16 bytes   magic "flpack\r\n", u32 version (1), u32 zero
//	frames              one after the other, from offset 16
//	table               see below
//	footer   64 bytes   u64 offset of the table, u32 length of the table,
//	                    u32 version (1), u32 number of frames, u32 number of blobs,
//	                    32 bytes BLAKE3 of the table, magic "\r\nflpack"
//
// A frame is up to 256 blobs one after the other, compressed together with
// zstd (encoding 1), or kept as they are where that gains nothing (encoding
// 0). Frames hold at most [FrameBytes], or a single larger blob.
//
// The table has a fixed part for each frame, in file order, and then, in the same
// order, the rows of all frames:
//
//	frame    12 bytes   u32 stored bytes, u32 plain bytes, u16 number of blobs, u8 encoding, u8 zero
//	row      36 bytes   BLAKE3-256 of the blob, u32 its bytes
//
// A blob starts in its frame where the blob before it ends. Whoever knows a
// frame's place in the file and its rows' place (the index does) reads one
// blob with two small reads; the table as a whole is for check and rebuild.
//
// Nothing that is read is believed: places are held against the file's size,
// sizes against the limits of this package before anything is allocated, a
// decoder may not give more than the declared size, and each blob that is
// given out has the hash it was asked by.
package pack
