package commands

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"forklift/storage/fault"
)

// Type is the type of a field's value.
type Type string

// The types that a field can have.
const (
	Text   Type = "string"
	Bool   Type = "boolean"
	Int    Type = "integer"
	Span   Type = "duration"
	Texts  Type = "strings" // may be given several times
	unsure Type = ""
)

// Field is one input of a verb, as the tags of its Request struct tell it.
type Field struct {
	Name     string   // key in a JSON request
	Flag     string   // long flag without dashes; "" for an argument
	Short    string   // one letter, or ""
	Arg      string   // what help calls the argument; "" for a flag
	Required bool     // an argument that must be given
	Value    string   // what help calls the flag's value
	Default  string   // the value when none is given, as text
	Enum     []string // the only values allowed; nil allows all
	Complete string   // what completes it; see Complete
	Help     string   // one line
	Type     Type
	Dash     bool   // an argument that stands behind "--" only
	Optional string // what a flag means without a value; "": it needs one

	index []int // of the struct's field, as reflect.VisibleFields gives it
}

// fieldsOf reads the tags of a Request struct. A struct that is not fit to be
// a Request is a broken program.
func fieldsOf(request reflect.Type) []Field {
	var fields []Field
	for _, sf := range reflect.VisibleFields(request) {
		if sf.Anonymous {
			continue // its fields follow
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		f := Field{
			Name: name, Flag: sf.Tag.Get("flag"), Short: sf.Tag.Get("short"), Arg: sf.Tag.Get("arg"),
			Value: sf.Tag.Get("value"), Default: sf.Tag.Get("default"), Complete: sf.Tag.Get("complete"),
			Help: sf.Tag.Get("help"), Type: typeOf(sf.Type), index: sf.Index,
		}
		if enum := sf.Tag.Get("enum"); enum != "" {
			f.Enum = strings.Split(enum, ",")
		}
		f.Dash, f.Optional = strings.HasPrefix(f.Arg, "[-- "), sf.Tag.Get("optional")
		f.Required = f.Arg != "" && !strings.HasPrefix(f.Arg, "[")
		if f.Name == "" || f.Help == "" || f.Type == unsure || (f.Flag == "") == (f.Arg == "") {
			panic(fmt.Sprintf("commands: %s.%s is not fit to be an input", request, sf.Name))
		}
		fields = append(fields, f)
	}
	return fields
}

func typeOf(t reflect.Type) Type {
	switch {
	case t == reflect.TypeFor[Duration]():
		return Span
	case t.Kind() == reflect.String:
		return Text
	case t.Kind() == reflect.Bool:
		return Bool
	case t.Kind() == reflect.Int:
		return Int
	case t == reflect.TypeFor[[]string]():
		return Texts
	}
	return unsure
}

// Set reads text into the field of a request made by Verb.NewRequest. A field
// of type Texts is added to; others are replaced.
func (f Field) Set(request any, text string) error {
	v := reflect.ValueOf(request).Elem().FieldByIndex(f.index)
	if f.Enum != nil && !slices.Contains(f.Enum, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(f.Enum, ", "))
	}
	switch f.Type {
	case Text:
		v.SetString(text)
	case Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case Int:
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a number of 0 or more", text)
		}
		v.SetInt(int64(n))
	case Span:
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	case Texts:
		v.Set(reflect.Append(v, reflect.ValueOf(text)))
	}
	return nil
}

// Get is the field's value in a request as text; a list is joined by commas.
func (f Field) Get(request any) string {
	v := reflect.ValueOf(request).Elem().FieldByIndex(f.index)
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	if v.IsZero() {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// check reports what is missing in a request, or not allowed.
func (f Field) check(request any) error {
	v := reflect.ValueOf(request).Elem().FieldByIndex(f.index)
	if f.Required && v.IsZero() {
		return &fault.Error{Op: "read request", Path: f.Arg, Kind: fault.Usage, Err: fmt.Errorf("%s is missing", f.Arg)}
	}
	if text, ok := v.Interface().(string); ok && text != "" && f.Enum != nil && !slices.Contains(f.Enum, text) {
		return &fault.Error{
			Op: "read request", Path: f.Name, Kind: fault.Usage,
			Err: fmt.Errorf("%s: %q is not one of %s", f.Name, text, strings.Join(f.Enum, ", ")),
		}
	}
	return nil
}
