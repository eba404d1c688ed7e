package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	jsonv1 "github.com/go-json-experiment/json/v1"
	"go.lsp.dev/protocol"
)

// Decode reads params into v, a pointer. Nothing, null and an empty array
// leave v as it is, unless v is a slice. An error wraps ErrParams.
func Decode(raw json.RawMessage, v any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "[]" {
		return nil
	}
	var err error
	if use(reflect.TypeOf(v)) == ours {
		err = json.Unmarshal(raw, v)
	} else {
		err = protocol.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrParams, err)
	}
	return nil
}

// Encode writes a value as the client is to get it: the types of LSP by their
// own codec, everything else as encoding/json does, so that a verb's result is
// what --json prints. Both may be mixed.
func Encode(v any) (json.RawMessage, error) {
	if v == nil {
		return json.RawMessage("null"), nil
	}
	switch use(reflect.TypeOf(v)) {
	case theirs:
		return protocol.Marshal(v)
	case mixed:
		return jsonv1.Marshal(v)
	}
	return json.Marshal(v)
}

// usage tells whose types a type is made of.
type usage uint8

const (
	ours   usage = iota // no type of LSP in it
	mixed               // a struct of ours with types of LSP in it
	theirs              // a type of LSP, or a list or map of one
)

var usages sync.Map // reflect.Type -> usage

// use tells which codec a type needs.
func use(t reflect.Type) usage {
	if u, ok := usages.Load(t); ok {
		return u.(usage)
	}
	u := find(t, map[reflect.Type]bool{})
	usages.Store(t, u)
	return u
}

// find walks a type; seen are those on the way.
func find(t reflect.Type, seen map[reflect.Type]bool) usage {
	if strings.HasPrefix(t.PkgPath(), "go.lsp.dev/") {
		return theirs
	}
	if seen[t] {
		return ours
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return find(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if find(t.Field(i).Type, seen) != ours {
				return mixed
			}
		}
	}
	return ours
}
