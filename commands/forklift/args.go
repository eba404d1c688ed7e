package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"forklift/commands"
	"forklift/storage/fault"
)

// argNames are the arguments as a usage line shows them.
func argNames(v *commands.Verb) []string {
	var names []string
	for _, f := range v.Fields {
		if f.Arg != "" {
			names = append(names, f.Arg)
		}
	}
	return names
}

// isRest reports an argument that takes all that follow.
func isRest(f commands.Field) bool { return f.Arg != "" && f.Type == commands.Texts && !f.Dash }

// planID matches the ids of plans.
var planID = regexp.MustCompile(`^[0-9a-f]{12}$`)

// joinPlan makes `--plan ID` one word: the value of that flag may be left out,
// so that the id would else be an argument.
func joinPlan(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		if args[i] == "--plan" && i+1 < len(args) && planID.MatchString(args[i+1]) {
			i++
			out = append(out, "--plan="+args[i])
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// restOf is the argument that takes all that follow, or nil.
func restOf(v *commands.Verb) *commands.Field {
	for i := range v.Fields {
		if isRest(v.Fields[i]) {
			return &v.Fields[i]
		}
	}
	return nil
}

// setArgs puts the arguments into the request. dash is how many stood before
// "--", or -1: what is behind a "--" that comes first goes to the argument
// that takes all that follow.
func setArgs(v *commands.Verb, request any, args []string, dash int) error {
	rest := restOf(v)
	var behind []string
	for _, f := range v.Fields {
		if f.Dash && dash >= 0 {
			args, behind = args[:dash], args[dash:]
		}
	}
	for _, f := range v.Fields {
		switch {
		case f.Dash:
			for _, arg := range behind {
				if err := f.Set(request, arg); err != nil {
					return usageError(v, err)
				}
			}
		case f.Arg == "" || (rest != nil && dash == 0 && !isRest(f)):
			continue
		case isRest(f):
			if dash < 0 && len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			for _, arg := range args {
				if err := f.Set(request, arg); err != nil {
					return usageError(v, err)
				}
			}
			args = nil
		case len(args) > 0 && args[0] == "":
			err := usageError(v, fmt.Errorf("%s is empty", strings.Trim(f.Arg, "[]")))
			err.Hint = "A variable of the shell may be unset. " + err.Hint
			return err
		case len(args) > 0:
			if err := f.Set(request, args[0]); err != nil {
				return usageError(v, err)
			}
			args = args[1:]
		case f.Required:
			return usageError(v, fmt.Errorf("%s is missing", f.Arg))
		}
	}
	if len(args) > 0 {
		err := usageError(v, fmt.Errorf("unexpected argument %q", args[0]))
		switch {
		case barePlan(v, request):
			err.Hint = fmt.Sprintf("It is no id of a plan: those have 12 digits from 0 to f, and `forklift %s ... --plan` gives one.", v.Name)
		case dashOf(v):
			err.Hint = fmt.Sprintf("Paths stand behind --: `forklift %s ... -- %s`.", v.Name, args[0])
		}
		return err
	}
	return nil
}

// barePlan reports a --plan without an id: an argument too many was meant as it.
func barePlan(v *commands.Verb, request any) bool {
	return slices.ContainsFunc(v.Fields, func(f commands.Field) bool {
		return f.Flag == "plan" && f.Optional != "" && f.Get(request) == f.Optional
	})
}

// dashOf reports a verb that takes paths behind "--".
func dashOf(v *commands.Verb) bool {
	return slices.ContainsFunc(v.Fields, func(f commands.Field) bool { return f.Dash })
}

func usageError(v *commands.Verb, err error) *fault.Error {
	return &fault.Error{Op: v.Name, Kind: fault.Usage, Err: err, Hint: fmt.Sprintf("See `forklift %s --help`.", v.Name)}
}

// flagValue lets cobra set a field of a request.
type flagValue struct {
	field   commands.Field
	request any
}

func (f flagValue) String() string {
	if f.request == nil {
		return ""
	}
	return f.field.Get(f.request)
}

func (f flagValue) Set(text string) error { return f.field.Set(f.request, text) }

func (f flagValue) Type() string { return string(f.field.Type) }

func (a *app) addFlag(cmd *cobra.Command, f commands.Field, request any) {
	flag := cmd.Flags().VarPF(flagValue{f, request}, f.Flag, f.Short, f.Help)
	if f.Type == commands.Bool {
		flag.NoOptDefVal = "true"
		return
	}
	flag.NoOptDefVal = f.Optional
	// The name of a flag of this very command is always known.
	_ = cmd.RegisterFlagCompletionFunc(f.Flag, a.completeField(f))
}

// noFlag answers flags that other verbs lead one to expect.
var noFlag = map[string]string{
	"forklift trust --yes": "`forklift trust` asks nothing: it approves the file as it is. To read what would run before: `forklift trust --show`.",
}

// calledElsewhere are the flags by the names that other programs give them.
var calledElsewhere = map[string]string{
	"branch": "git-branch", "dry-run": "plan", "force": "yes", "message": "note",
}

// flagError says what is wrong with a flag, with the one that was meant.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	e := &fault.Error{Kind: fault.Usage, Err: err, Hint: fmt.Sprintf("See `%s --help`.", cmd.CommandPath())}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			e.Err = fmt.Errorf("%s has no flag -%s", cmd.CommandPath(), name)
			return e
		}
		e.Err = fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
		if hint := noFlag[cmd.CommandPath()+" --"+name]; hint != "" {
			e.Hint = hint
		} else if near := nearFlag(cmd, name); near != "" {
			e.Hint = fmt.Sprintf("Did you mean --%s?", near)
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		e.Err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return e
}

// nearFlag is the flag that is most like name, or is called so elsewhere, if
// one is. A --plan that needs an id shows no plan.
func nearFlag(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(calledElsewhere[name]); f != nil && (f.Name != "plan" || f.NoOptDefVal != "") {
		return f.Name
	}
	best, distance := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := levenshtein.ComputeDistance(name, f.Name); d < distance || (best == "" && strings.HasPrefix(f.Name, name)) {
			best, distance = f.Name, d
		}
	})
	return best
}
