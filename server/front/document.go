package front

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxTexts bounds the texts of open documents that are kept, in bytes. A
// document beyond it is opened empty at a new daemon: which documents are
// unsaved stays right, what is said about its text does not.
const maxTexts = 128 << 20

// document is an open document as the editor told it.
type document struct {
	uri, language string
	version       int32
	text          string
	savedVersion  int32
	savedText     string
}

// dirty tells that it was changed since it was opened or saved.
func (d *document) dirty() bool { return d.version != d.savedVersion }

// The params of the notifications about documents; only what is needed.
type (
	openParams struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int32  `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	changeParams struct {
		TextDocument   versioned    `json:"textDocument"`
		ContentChanges []textChange `json:"contentChanges"`
	}
	versioned struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
	}
	textChange struct {
		Range *textRange `json:"range,omitempty"`
		Text  string     `json:"text"`
	}
	textRange struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
)

// documents are the open documents in the order in which they were opened.
type documents struct {
	list     []*document
	encoding string // of positions: "utf-8", "utf-16" or "utf-32"
	bytes    int    // of all texts
}

func (ds *documents) find(uri string) *document {
	for _, d := range ds.list {
		if d.uri == uri {
			return d
		}
	}
	return nil
}

// note keeps up with a notification about a document. One that makes no sense
// is passed on all the same, and changes nothing here.
func (ds *documents) note(method string, params json.RawMessage) {
	switch method {
	case "textDocument/didOpen":
		var p openParams
		if json.Unmarshal(params, &p) == nil && p.TextDocument.URI != "" {
			t := p.TextDocument
			ds.close(t.URI)
			d := &document{uri: t.URI, language: t.LanguageID, version: t.Version, savedVersion: t.Version}
			ds.list = append(ds.list, d)
			ds.set(d, t.Text, true)
		}
	case "textDocument/didChange":
		var p changeParams
		if json.Unmarshal(params, &p) != nil {
			return
		}
		if d := ds.find(p.TextDocument.URI); d != nil {
			text := d.text
			for _, c := range p.ContentChanges {
				text = ds.apply(text, c)
			}
			d.version = p.TextDocument.Version
			ds.set(d, text, false)
		}
	case "textDocument/didSave":
		var p changeParams
		if json.Unmarshal(params, &p) != nil {
			return
		}
		if d := ds.find(p.TextDocument.URI); d != nil {
			d.savedVersion = d.version
			ds.set(d, d.text, true)
		}
	case "textDocument/didClose":
		var p changeParams
		if json.Unmarshal(params, &p) == nil {
			ds.close(p.TextDocument.URI)
		}
	}
}

// set gives a document its text, or nothing when there is too much of it.
func (ds *documents) set(d *document, text string, saved bool) {
	ds.bytes -= len(d.text) + len(d.savedText)
	d.text = text
	if saved {
		d.savedText = text
	}
	if ds.bytes+len(d.text)+len(d.savedText) > maxTexts {
		d.text, d.savedText = "", ""
	}
	ds.bytes += len(d.text) + len(d.savedText)
}

func (ds *documents) close(uri string) {
	for i, d := range ds.list {
		if d.uri == uri {
			ds.bytes -= len(d.text) + len(d.savedText)
			ds.list = append(ds.list[:i], ds.list[i+1:]...)
			return
		}
	}
}

// apply makes one change to a text.
func (ds *documents) apply(text string, c textChange) string {
	if c.Range == nil {
		return c.Text
	}
	start, end := ds.offset(text, c.Range.Start), ds.offset(text, c.Range.End)
	if end < start {
		start, end = end, start
	}
	return text[:start] + c.Text + text[end:]
}

// offset is the place of a position in a text, in bytes. One behind the end
// of a line is its end, one behind the last line the end of the text.
func (ds *documents) offset(text string, p position) int {
	at := 0
	for range p.Line {
		next := strings.IndexAny(text[at:], "\r\n")
		if next < 0 {
			return len(text)
		}
		at += next + 1
		if text[at-1] == '\r' && strings.HasPrefix(text[at:], "\n") {
			at++
		}
	}
	for units := 0; units < p.Character && at < len(text) && text[at] != '\n' && text[at] != '\r'; {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case ds.encoding == "utf-8":
			units += size
		case ds.encoding != "utf-32" && r > 0xFFFF:
			units += 2
		default:
			units++
		}
		at += size
	}
	return at
}

// replay are the notifications that tell all of it to a new daemon.
func (ds *documents) replay() [][]byte {
	var out [][]byte
	for _, d := range ds.list {
		var p openParams
		p.TextDocument.URI, p.TextDocument.LanguageID = d.uri, d.language
		p.TextDocument.Version, p.TextDocument.Text = d.savedVersion, d.savedText
		out = append(out, notification("textDocument/didOpen", p))
		if d.dirty() {
			out = append(out, notification("textDocument/didChange", changeParams{
				TextDocument: versioned{d.uri, d.version}, ContentChanges: []textChange{{Text: d.text}},
			}))
		}
	}
	return out
}

// notification makes a message; params are structs that can be encoded.
func notification(method string, params any) []byte {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
	if err != nil {
		panic("front: " + err.Error())
	}
	return body
}
