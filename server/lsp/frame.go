package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The limits of what is read, unless Options say otherwise.
const (
	MaxHeader      = 8 << 10  // bytes of one header line
	MaxHeaderLines = 16       // header lines of one message
	MaxBody        = 16 << 20 // bytes of one message
)

// errFrame is wrapped by every error of a frame that cannot be read.
var errFrame = errors.New("not a message")

// FrameReader reads messages behind a Content-Length header. Its errors are
// final, but for none: what follows a bad frame cannot be told.
type FrameReader struct {
	r                  *bufio.Reader
	maxHeader, maxBody int
}

// NewFrameReader reads frames from r; limits that are 0 are MaxHeader and
// MaxBody.
func NewFrameReader(r io.Reader, maxHeader, maxBody int) *FrameReader {
	if maxHeader <= 0 {
		maxHeader = MaxHeader
	}
	if maxBody <= 0 {
		maxBody = MaxBody
	}
	return &FrameReader{r: bufio.NewReaderSize(r, 64<<10), maxHeader: maxHeader, maxBody: maxBody}
}

// Read gives the next body, in memory of its own. io.EOF is the end between
// two frames, io.ErrUnexpectedEOF the end inside one.
func (f *FrameReader) Read() ([]byte, error) {
	length := -1
	for lines := 0; ; lines++ {
		line, err := f.line()
		if err != nil {
			if errors.Is(err, io.EOF) && (lines > 0 || line != "") {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if line == "" {
			break
		}
		if lines == MaxHeaderLines {
			return nil, fmt.Errorf("%w: more than %d header lines", errFrame, MaxHeaderLines)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%w: the header line %.40q has no colon", errFrame, line)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if length, err = f.length(strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	if length < 0 {
		return nil, fmt.Errorf("%w: no Content-Length", errFrame)
	}
	var body bytes.Buffer // grows with what arrives, not with what is promised
	n, err := body.ReadFrom(io.LimitReader(f.r, int64(length)))
	if err == nil && n < int64(length) {
		err = io.ErrUnexpectedEOF
	}
	return body.Bytes(), err
}

// line reads one header line without its end.
func (f *FrameReader) line() (string, error) {
	var line []byte
	for {
		b, err := f.r.ReadByte()
		if err != nil {
			return string(line), err
		}
		if b == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if len(line) == f.maxHeader {
			return "", fmt.Errorf("%w: a header line of more than %d bytes", errFrame, f.maxHeader)
		}
		line = append(line, b)
	}
}

// length reads the value of a Content-Length header.
func (f *FrameReader) length(value string) (int, error) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: Content-Length %.40q", errFrame, value)
	}
	if n > uint64(f.maxBody) {
		return 0, fmt.Errorf("%w: a body of %d bytes, the limit is %d", errFrame, n, f.maxBody)
	}
	return int(n), nil
}

// AppendFrame appends body behind its header to dst.
func AppendFrame(dst, body []byte) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}
