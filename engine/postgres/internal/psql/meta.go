package psql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// passedOver are backslash commands that only change what a person sees.
var passedOver = []string{"echo", "qecho", "warn", "timing", "pset", "x", "a", "t", "f", "H", "html", "C", "T", "conninfo"}

// passedVariables are the variables of psql whose setting does not change what
// is loaded: we stop at the first error whatever they say.
var passedVariables = []string{"ON_ERROR_STOP", "QUIET", "ECHO", "ECHO_HIDDEN", "VERBOSITY", "SHOW_CONTEXT", "SHOW_ALL_RESULTS", "FETCH_COUNT",
	"HISTFILE", "HISTSIZE", "HISTCONTROL", "IGNOREEOF", "PROMPT1", "PROMPT2", "PROMPT3", "COMP_KEYWORD_CASE", "HIDE_TABLEAM", "HIDE_TOAST_COMPRESSION"}

// meta carries out a backslash command.
func (r *runner) meta(ctx context.Context, text string) error {
	name, args, err := splitCommand(text)
	if err != nil {
		return err
	}
	if r.key != "" {
		if name == "unrestrict" && len(args) == 1 && args[0] == r.key {
			r.key = ""
			return nil
		}
		return fmt.Errorf(`the command \%s stands where \restrict forbids commands`, name)
	}
	switch name {
	case "restrict":
		if len(args) != 1 || args[0] == "" {
			return errors.New(`\restrict needs one key`)
		}
		r.key = args[0]
		return nil
	case "c", "connect":
		return r.connect(ctx, args)
	case "encoding":
		if len(args) != 1 {
			return errors.New(`\encoding needs one name`)
		}
		return r.target.Exec(ctx, "SET client_encoding = '"+strings.ReplaceAll(args[0], "'", "''")+"'")
	case "q", "quit":
		if r.scan.Pending() {
			return errors.New(`\quit stands inside a statement`)
		}
		return errQuit
	case "set", "unset":
		if len(args) == 0 || slices.Contains(passedVariables, args[0]) {
			return nil
		}
		return fmt.Errorf(`\%s %s: variables are not substituted; write the value into the file`, name, args[0])
	}
	if slices.Contains(passedOver, name) {
		return nil
	}
	return fmt.Errorf(`the command \%s of psql is not known here`, name)
}

// connect carries out \connect [-reuse-previous=on] [DBNAME | - | CONNINFO] [USER | -].
func (r *runner) connect(ctx context.Context, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], "-reuse-previous=") {
		args = args[1:]
	}
	if r.scan.Pending() {
		return errors.New(`\connect stands inside a statement`)
	}
	for i, arg := range args {
		if arg == "-" {
			args[i] = ""
		}
	}
	for len(args) > 2 && args[len(args)-1] == "" {
		args = args[:len(args)-1] // host and port, kept as they are
	}
	if len(args) > 2 {
		return errors.New(`\connect with a host or port: files are loaded into the worktree's own server`)
	}
	args = append(args, "", "")
	database, user := args[0], args[1]
	switch {
	case strings.Contains(database, "://"):
		return errors.New(`\connect with a URL: name only the database`)
	case strings.Contains(database, "="):
		values, err := parseConninfo(database)
		if err != nil {
			return err
		}
		database = values["dbname"]
		if values["user"] != "" {
			user = values["user"]
		}
	}
	return r.target.Connect(ctx, database, user)
}

// splitCommand cuts a command line into its name and arguments: separated by
// white space, quoted by ' (with backslash escapes) or ".
func splitCommand(text string) (name string, args []string, err error) {
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" || strings.HasPrefix(rest, `\\`) || name == "echo" || name == "qecho" || name == "warn" {
			return name, args, nil
		}
		var arg string
		if arg, rest, err = nextArgument(rest); err != nil {
			return "", nil, fmt.Errorf(`\%s: %w`, name, err)
		}
		args = append(args, arg)
	}
}

// nextArgument cuts off the first argument.
func nextArgument(text string) (arg, rest string, err error) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), text[i:], nil
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '`':
			return "", "", errors.New("programs are not run")
		case c == quote && quote != 0:
			if i+1 < len(text) && text[i+1] == quote {
				b.WriteByte(c)
				i++
				continue
			}
			quote = 0
		case quote == '\'' && c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", fmt.Errorf("a %c is not closed", quote)
	}
	return b.String(), "", nil
}

// parseConninfo reads "key='value' ..." as libpq does; only what names the
// database and the user may be in it.
func parseConninfo(text string) (map[string]string, error) {
	values := map[string]string{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, ok := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !ok || (key != "dbname" && key != "user") {
			return nil, fmt.Errorf(`\connect with %q: only dbname and user can be given`, key)
		}
		value, left, err := conninfoValue(strings.TrimLeft(after, " \t"))
		if err != nil {
			return nil, err
		}
		values[key], rest = value, left
	}
	return values, nil
}

// conninfoValue reads one value: quoted by ' or up to the next space, with
// backslash escapes in both.
func conninfoValue(text string) (value, rest string, err error) {
	var b strings.Builder
	quoted := strings.HasPrefix(text, "'")
	i := 0
	if quoted {
		i = 1
	}
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case quoted && c == '\'':
			return b.String(), text[i+1:], nil
		case !quoted && (c == ' ' || c == '\t'):
			return b.String(), text[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errors.New("a quoted value is not closed")
	}
	return b.String(), "", nil
}
