package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"forklift/storage/fault"
	"forklift/storage/progress"
)

// MaxRequestBytes is the largest JSON request that Decode reads: requests are
// names and flags.
const MaxRequestBytes = 1 << 20

// Group is the heading under which help lists a verb.
type Group string

// The groups, in the order of help.
const (
	GroupStart       Group = "Get started"
	GroupCheckpoints Group = "Checkpoints"
	GroupDatabase    Group = "Database"
	GroupEditors     Group = "Editors"
	GroupMachine     Group = "This machine"
)

// Groups is the order in which help lists the groups.
var Groups = []Group{GroupStart, GroupCheckpoints, GroupDatabase, GroupEditors, GroupMachine}

// Example is a command line and what it does.
type Example struct {
	Line string
	What string
}

// Exit is an exit code of a verb with its meaning.
type Exit struct {
	Code int
	What string
}

// ExitCodes are the exit codes of most verbs: the table of storage/fault in
// words.
var ExitCodes = []Exit{
	{0, "done"},
	{1, "failed"},
	{2, "wrong arguments or configuration"},
	{3, "busy: a running command or operation is in the way"},
	{4, "no such checkpoint, worktree, seed or repository"},
	{5, "what the repository's file would run is not approved"},
	{6, "an operation was interrupted: run forklift recover"},
	{7, "stored data is corrupt"},
	{8, "too little space"},
	{9, "not supported by this version, platform or file system"},
	{10, "an editor holds unsaved buffers"},
	{11, "done, but the start hook failed"},
	{130, "interrupted by the user"},
}

// Verb describes one verb to the fronts.
type Verb struct {
	Name     string // "capture", "db start"
	Group    Group
	Short    string // one line
	Long     string // paragraphs; may be empty
	Examples []Example
	Exits    []Exit   // its exit codes, if they are not ExitCodes
	Near     []string // what people may call it instead; only for "did you mean"
	Worktree bool     // acts on the worktree of Env.Dir
	ReadOnly bool     // changes nothing
	Alone    bool     // needs neither Env.Engine nor Env.Postgres
	Fields   []Field  // from the Request struct

	request, result reflect.Type
	run             func(ctx context.Context, env Env, request any) (any, error)
	exitCode        func(err error) int
}

// NewVerb completes a descriptor with the verb's function. The fronts use it
// for the few verbs that only one of them can have.
func NewVerb[Q, R any](v Verb, run func(context.Context, Env, Q) (R, error)) *Verb {
	v.request, v.result = reflect.TypeFor[Q](), reflect.TypeFor[R]()
	v.Fields = fieldsOf(v.request)
	v.run = func(ctx context.Context, env Env, request any) (any, error) {
		result, err := run(ctx, env, *request.(*Q))
		if err != nil {
			return nil, err
		}
		return &result, nil
	}
	return &v
}

// NewRequest makes an empty request with the defaults set: a pointer to the
// verb's Request struct.
func (v *Verb) NewRequest() any {
	request := reflect.New(v.request).Interface()
	for _, f := range v.Fields {
		if f.Default == "" {
			continue
		}
		if err := f.Set(request, f.Default); err != nil {
			panic(fmt.Sprintf("commands: default of %s %s: %v", v.Name, f.Name, err))
		}
	}
	return request
}

// ResultType is the type of the struct that Run gives a pointer to.
func (v *Verb) ResultType() reflect.Type { return v.result }

// Decode reads a request from JSON. Nothing, null and an empty array mean no
// inputs (some clients cannot write an empty object); an unknown key is an
// error of kind Usage.
func (v *Verb) Decode(raw json.RawMessage) (any, error) {
	request := v.NewRequest()
	raw = bytes.TrimSpace(raw)
	if len(raw) > MaxRequestBytes {
		return nil, &fault.Error{Op: "read request", Path: v.Name, Kind: fault.Usage, Err: fmt.Errorf("larger than %d bytes", MaxRequestBytes)}
	}
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "[]" {
		return request, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(request); err != nil {
		return nil, &fault.Error{Op: "read request", Path: v.Name, Kind: fault.Usage, Err: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, &fault.Error{Op: "read request", Path: v.Name, Kind: fault.Usage, Err: fmt.Errorf("more than one value")}
	}
	return request, nil
}

// Run checks the request, a pointer as NewRequest gives, and runs the verb.
// The result is a pointer to the verb's Result struct; of an error FailureOf
// and ExitCode tell the rest.
func (v *Verb) Run(ctx context.Context, env Env, request any) (any, error) {
	for _, f := range v.Fields {
		if err := f.check(request); err != nil {
			return nil, err
		}
	}
	if env.Progress != nil {
		ctx = progress.With(ctx, env.Progress)
	}
	return v.run(ctx, env, request)
}

// ExitCode is the process exit code for an error of this verb.
func (v *Verb) ExitCode(err error) int {
	if v.exitCode != nil {
		return v.exitCode(err)
	}
	return fault.KindOf(err).ExitCode()
}
