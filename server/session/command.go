package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"forklift/commands"
	"forklift/server/lsp"
	"forklift/storage/fault"
)

// commandParams are the params of workspace/executeCommand.
type commandParams struct {
	Command   string            `json:"command"`
	Arguments []json.RawMessage `json:"arguments"`
	Token     json.RawMessage   `json:"workDoneToken"`
}

// command is a command that was understood.
type command struct {
	verb     *commands.Verb
	worktree string         // URI, "" when left out
	request  map[string]any // the rest of the argument, as it was written
}

// commandLane is the queue of a command; it must not fail, and not take long.
func (s *session) commandLane(params json.RawMessage) string {
	c, err := readCommand(params)
	if err != nil || c.verb.ReadOnly {
		return ""
	}
	p, err := s.placeOf(c.worktree, "")
	if err != nil {
		return ""
	}
	return p.dir
}

// executeCommand runs a verb.
func (s *session) executeCommand(ctx context.Context, params json.RawMessage) (any, error) {
	c, err := readCommand(params)
	if err != nil {
		return nil, failure(err)
	}
	request, err := decodeRequest(c.verb, c.request)
	if err != nil {
		return nil, failure(err)
	}
	at, err := s.placeOf(c.worktree, "arguments[0].worktree")
	if err != nil && c.verb.Worktree {
		return nil, failure(err)
	} else if err != nil {
		at = place{dir: s.peer.Cwd}
	}
	var p commandParams
	_ = json.Unmarshal(params, &p) // readCommand has
	result, err := s.runVerb(ctx, c.verb, at, request, p.Token)
	if err != nil {
		return nil, failure(err)
	}
	return result, nil
}

// runVerb runs a verb at a place, with progress. The verb outlives the
// connection, and ends early only when the user cancels it.
func (s *session) runVerb(ctx context.Context, v *commands.Verb, at place, request any, token json.RawMessage) (any, error) {
	end, err := s.hub.begin()
	if err != nil {
		return nil, &fault.Error{Op: v.Name, Kind: fault.Busy, Err: err}
	}
	defer end()
	ctx, cancel := s.untilCancelled(ctx)
	defer cancel()
	env, err := s.envAt(at.dir)
	if err != nil {
		return nil, err
	}
	if !v.ReadOnly {
		p := s.progress(v, token, cancel)
		env.Progress = p
		defer func() { p.end(err) }()
		if at.tree != nil {
			s.settleUnsaved(at.tree)
		}
	}
	var result any
	result, err = v.Run(ctx, env, request)
	if at.tree != nil && !v.ReadOnly {
		at.tree.refresh(false)
	}
	return result, err
}

// untilCancelled is a context that ends when the client cancels ctx, but not
// when the connection does.
func (s *session) untilCancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), lsp.ErrClosed) {
			cancel()
		}
	})
	return own, func() { stop(); cancel() }
}

// readCommand reads the params of workspace/executeCommand. Its errors are of
// kind Usage and name the place.
func readCommand(params json.RawMessage) (command, error) {
	var p commandParams
	if err := json.Unmarshal(params, &p); err != nil {
		return command{}, wrongType("params", err)
	}
	v := commandVerb(p.Command)
	if v == nil {
		return command{}, unknownCommand(p.Command)
	}
	c := command{verb: v, request: map[string]any{}}
	if len(p.Arguments) > 1 {
		return command{}, usage("arguments[1]", "there is only one argument, an object")
	}
	if len(p.Arguments) == 0 {
		return c, nil
	}
	arg := bytes.TrimSpace(p.Arguments[0])
	if text := string(arg); text == "null" || text == "[]" {
		return c, nil // some clients cannot write an empty object
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(arg, &keys); err != nil {
		return command{}, wrongType("arguments[0]", err)
	}
	for key, value := range keys {
		if key != "worktree" {
			c.request[key] = value
			continue
		}
		if err := json.Unmarshal(value, &c.worktree); err != nil {
			return command{}, wrongType("arguments[0].worktree", err)
		}
	}
	return c, nil
}

// decodeRequest reads the keys of a request, one after the other, so that the
// one that is wrong can be named.
func decodeRequest(v *commands.Verb, keys map[string]any) (any, error) {
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if _, err := v.Decode(raw(map[string]any{name: keys[name]})); err != nil {
			where := "arguments[0]." + name
			if known(v, name) {
				return nil, wrongType(where, err)
			}
			return nil, usage(where, fmt.Sprintf("%s has no input %q", v.Name, name))
		}
	}
	return v.Decode(raw(keys))
}

func known(v *commands.Verb, name string) bool {
	for _, f := range v.Fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// usage is a fault in what the client sent.
func usage(where, text string) error {
	return &fault.Error{Op: "read request", Path: where, Kind: fault.Usage, Err: errors.New(where + ": " + text)}
}

// wrongType names what was expected at a place, and what was there.
func wrongType(where string, err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if field := wrong.Field; field != "" && where == "params" {
			where = field
		}
		return usage(where, fmt.Sprintf("a %s cannot be a %s", strings.Fields(wrong.Value)[0], typeName(wrong)))
	}
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	return usage(where, cause.Error())
}

// typeName is what JSON calls a Go type.
func typeName(wrong *json.UnmarshalTypeError) string {
	switch kind := wrong.Type.Kind().String(); {
	case kind == "bool":
		return "boolean"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "number"
	case kind == "slice":
		return "list"
	case kind == "struct", kind == "map":
		return "object"
	default:
		return kind
	}
}

func unknownCommand(name string) error {
	e := &fault.Error{Op: "execute command", Path: name, Kind: fault.Usage, Err: fmt.Errorf("there is no command %q", name),
		Hint: "The commands are those that initialize told."}
	if verb, ok := strings.CutPrefix(name, commandPrefix); ok && withTerminal[strings.ReplaceAll(verb, "_", " ")] {
		e.Hint = "This one needs a terminal: run it with the command line."
	}
	return e
}
