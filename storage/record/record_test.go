package record_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// body is a record for tests.
type body struct {
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`
}

const encoded = `{"kind":"test","format":1,"blake3":"2fe712bd02c9cb2d66905ceddf329aeee7900a311048115403e842d024f4a847","body":{"name":"a \u003c b","count":2}}` + "\n"

func encode(t *testing.T, kind string, format int, v any) []byte {
	t.Helper()
	data, err := record.Encode(kind, format, v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kind checks the kind of an error.
func kind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Errorf("got %v (%v), want kind %v", err, fault.KindOf(err), want)
	}
}

func TestEncodeAndDecode(t *testing.T) {
	data := encode(t, "test", 1, body{"a < b", 2})
	if string(data) != encoded {
		t.Errorf("got %s", data)
	}
	var v body
	if err := record.Decode(data, "test", 1, &v); err != nil || v != (body{"a < b", 2}) {
		t.Errorf("got %v, %v", v, err)
	}
	if err := record.Decode(data, "test", 3, &v); err != nil {
		t.Errorf("a reader of later formats: %v", err)
	}
	if _, err := record.Encode("test", 1, func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

// TestEveryBitCounts flips each bit and cuts at each place.
func TestEveryBitCounts(t *testing.T) {
	data := encode(t, "test", 1, body{"name", 7})
	for i := range data {
		for bit := range 8 {
			bad := append([]byte(nil), data...)
			bad[i] ^= 1 << bit
			var v body
			err := record.Decode(bad, "test", 1, &v)
			if k := fault.KindOf(err); k != fault.Corrupt && k != fault.Unsupported {
				t.Errorf("bit %d of byte %d (%q): %v", bit, i, data[i], err)
			}
		}
		kind(t, record.Decode(data[:i], "test", 1, new(body)), fault.Corrupt)
	}
	kind(t, record.Decode(append(data, ' '), "test", 1, new(body)), fault.Corrupt)
	kind(t, record.Decode(append(data, data...), "test", 1, new(body)), fault.Corrupt)
}

func TestDecodeRefuses(t *testing.T) {
	err := record.Decode(encode(t, "test", 2, body{}), "test", 1, new(body))
	kind(t, err, fault.Unsupported)
	if !strings.Contains(err.Error(), "written by a newer Forklift") || fault.HintOf(err) == "" {
		t.Errorf("says %q, hint %q", err, fault.HintOf(err))
	}
	kind(t, record.Decode(encode(t, "other", 1, body{}), "test", 1, new(body)), fault.Corrupt)
	kind(t, record.Decode(encode(t, "other", 9, body{}), "test", 1, new(body)), fault.Corrupt)
	kind(t, record.Decode(encode(t, "test", 0, body{}), "test", 1, new(body)), fault.Corrupt)
	kind(t, record.Decode(encode(t, "test", 1, map[string]int{"unknown": 1}), "test", 1, new(body)), fault.Corrupt)
	kind(t, record.Decode(encode(t, "test", 1, map[string]string{"count": "x"}), "test", 1, new(body)), fault.Corrupt)
	// A newer format may have a shape that we do not know.
	newer := `{"kind":"test","format":2,"blake3":"","extra":{},"body":null}`
	kind(t, record.Decode([]byte(newer), "test", 1, new(body)), fault.Unsupported)
}

func TestFiles(t *testing.T) {
	m := vfs.NewMem()
	var v body
	if err := record.Read(m, "/r", "test", 1, &v); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent record: %v", err)
	}
	if err := record.Create(m, "/r", "test", 1, body{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := record.Create(m, "/r", "test", 1, body{Name: "two"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second creation: %v", err)
	}
	if err := record.Read(m, "/r", "test", 1, &v); err != nil || v.Name != "one" {
		t.Errorf("got %v, %v", v, err)
	}
	if err := record.Write(m, "/r", "test", 1, body{Name: "three"}); err != nil {
		t.Fatal(err)
	}
	after := m.CrashClone(vfs.CrashOptions{})
	if err := record.Read(after, "/r", "test", 1, &v); err != nil || v.Name != "three" {
		t.Errorf("got %v, %v", v, err)
	}
	if i, err := m.Lstat("/r"); err != nil || i.Mode != 0o600 {
		t.Errorf("mode %v, %v", i.Mode, err)
	}
	put(t, m, "/r", "rubbish")
	err := record.Read(m, "/r", "test", 1, &v)
	kind(t, err, fault.Corrupt)
	if !strings.Contains(err.Error(), "/r") {
		t.Errorf("%q does not name the file", err)
	}
	for _, err := range []error{record.Write(m, "/r", "test", 1, func() {}), record.Create(m, "/q", "test", 1, func() {}),
		record.AppendLine(m, "/q", "test", 1, func() {})} {
		if err == nil {
			t.Error("a function was written")
		}
	}
}

// put replaces the content of a file by plain calls.
func put(t *testing.T, fsys vfs.FS, name, content string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// lines gives the names in a log.
func lines(fsys vfs.FS, name string) (string, error) {
	var all []string
	err := record.ReadLines(fsys, name, "test", 1, 1<<20, func(raw json.RawMessage) error {
		var v body
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		all = append(all, v.Name)
		return nil
	})
	return strings.Join(all, " "), err
}

func TestLog(t *testing.T) {
	m := vfs.NewMem()
	if _, err := lines(m, "/log"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent log: %v", err)
	}
	long := strings.Repeat("x", 100_000) // more than the first look at the end
	for _, name := range []string{"a", "b", long, "c"} {
		if err := record.AppendLine(m, "/log", "test", 1, body{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := lines(m, "/log"); got != "a b "+long+" c" || err != nil {
		t.Errorf("got %.20q, %v", got, err)
	}
	stop := errors.New("stop")
	n := 0
	err := record.ReadLines(m, "/log", "test", 1, 1<<20, func(json.RawMessage) error {
		n++
		return stop
	})
	if err != stop || n != 1 {
		t.Errorf("stopped after %d with %v", n, err)
	}
	kind(t, record.ReadLines(m, "/log", "test", 1, 1000, func(json.RawMessage) error { return nil }), fault.Corrupt)
}

// TestTornLog cuts the last line at each place, also with zeros and with a
// newline behind, and appends to what is left.
func TestTornLog(t *testing.T) {
	first := string(encode(t, "test", 1, body{Name: "first"}))
	last := string(encode(t, "test", 1, body{Name: "last"}))
	for cut := range len(last) {
		for _, tail := range []string{"", strings.Repeat("\x00", len(last)-cut), strings.Repeat("\x00", len(last)-cut-1) + "\n"} {
			for _, before := range []string{"", first} {
				if tail == "\n" && cut == len(last)-1 || cut == 0 && tail == "" {
					continue // not torn
				}
				m := vfs.NewMem()
				put(t, m, "/log", before+last[:cut]+tail)
				want := strings.TrimSpace(map[string]string{first: "first"}[before])
				if got, err := lines(m, "/log"); got != want || err != nil {
					t.Fatalf("cut at %d, %q: got %q, %v", cut, tail, got, err)
				}
				if err := record.AppendLine(m, "/log", "test", 1, body{Name: "next"}); err != nil {
					t.Fatal(err)
				}
				if got, err := lines(m, "/log"); got != strings.TrimSpace(want+" next") || err != nil {
					t.Fatalf("cut at %d, %q, then appended: got %q, %v", cut, tail, got, err)
				}
			}
		}
	}
}

func TestBadLinesOfALog(t *testing.T) {
	good := string(encode(t, "test", 1, body{Name: "good"}))
	newer := string(encode(t, "test", 2, body{Name: "newer"}))
	other := string(encode(t, "other", 1, body{Name: "other"}))
	bad := strings.Replace(good, "good", "g0od", 1)
	for content, want := range map[string]fault.Kind{bad + good: fault.Corrupt, "\n" + good: fault.Corrupt, good + other: fault.Corrupt,
		newer + good: fault.Unsupported, good + newer: fault.Unsupported} {
		m := vfs.NewMem()
		put(t, m, "/log", content)
		_, err := lines(m, "/log")
		kind(t, err, want)
		if !strings.Contains(err.Error(), "/log") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q names neither file nor line", err)
		}
	}
	// What another version or kind of record wrote is not torn: it stays.
	m := vfs.NewMem()
	put(t, m, "/log", good+newer)
	if err := record.AppendLine(m, "/log", "test", 1, body{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	_, err := lines(m, "/log")
	kind(t, err, fault.Unsupported)
	put(t, m, "/log", strings.Repeat("x", record.MaxLineBytes*2))
	kind(t, record.AppendLine(m, "/log", "test", 1, body{}), fault.Corrupt)
}

// TestLogAndPowerCuts cuts the power at each call while three records are
// added, and adds one more afterwards.
func TestLogAndPowerCuts(t *testing.T) {
	for n := 1; ; n++ {
		m := vfs.NewMem()
		m.CutAt(n)
		done := 0
		for ; done < 3; done++ {
			if err := record.AppendLine(m, "/log", "test", 1, body{Name: string(rune('a' + done))}); err != nil {
				break
			}
		}
		for seed := range uint64(30) {
			for _, keep := range []float64{0, 0.5, 1} {
				after := m.CrashClone(vfs.CrashOptions{Seed: seed, KeepUnsynced: keep})
				got, err := lines(after, "/log")
				if errors.Is(err, fs.ErrNotExist) && done == 0 {
					err = nil
				}
				acknowledged, one := "a b c"[:max(0, done*2-1)], "a b c"[:min(5, done*2+1)]
				if err != nil || got != acknowledged && got != one {
					t.Fatalf("cut at %d, seed %d, keep %v: %d done, got %q, %v", n, seed, keep, done, got, err)
				}
				if err := record.AppendLine(after, "/log", "test", 1, body{Name: "z"}); err != nil {
					t.Fatal(err)
				}
				if again, err := lines(after, "/log"); err != nil || again != strings.TrimSpace(got+" z") {
					t.Fatalf("cut at %d, seed %d, keep %v: appended to %q, got %q, %v", n, seed, keep, got, again, err)
				}
			}
		}
		if !m.Cut() {
			return
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded))
	f.Add([]byte(`{"kind":"test","format":9}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v body
		if err := record.Decode(data, "test", 1, &v); err != nil {
			if k := fault.KindOf(err); k != fault.Corrupt && k != fault.Unsupported {
				t.Errorf("kind %v: %v", k, err)
			}
		}
	})
}
