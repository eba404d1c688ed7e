package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forklift/commands"
	"forklift/storage/fault"
)

// groupShort describes the words that only stand before other words.
var groupShort = map[string]string{
	"db":       "The database of this worktree",
	"seed":     "Starting databases for new worktrees",
	"postgres": "PostgreSQL on this machine",
	"worktree": "The worktrees of this repository",
	"project":  "Another spelling of every verb of a worktree",
}

// verbKey is where a command keeps the name of its verb.
const verbKey = "verb"

// verbs are all verbs of the command line.
func (a *app) verbs() []*commands.Verb {
	return append(append(slices.Clone(commands.Verbs), a.editorVerbs()...), a.completionVerb(), a.manVerb())
}

// tree builds the commands: one for each verb, and once more below `project`
// for the verbs of a worktree.
func (a *app) tree() *cobra.Command {
	root := a.group("forklift", "")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result, or the error, as JSON")
	root.PersistentFlags().StringVarP(&a.dir, "directory", "C", "", "run as if started in DIR")
	root.Flags().BoolP("version", "v", false, "print the version")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(a.helpCommand())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(a.out, a.help(cmd)) })
	root.SetFlagErrorFunc(flagError)
	root.SetOut(a.out)
	root.SetErr(a.err)
	project := a.group("project", groupShort["project"])
	for _, v := range a.verbs() {
		a.add(root, v)
		if v.Worktree {
			a.add(project, v)
		}
	}
	root.AddCommand(project)
	return root
}

// add puts a verb below root, inside the group that its name begins with.
func (a *app) add(root *cobra.Command, v *commands.Verb) {
	parent := root
	words := strings.Fields(v.Name)
	if len(words) == 2 {
		parent = child(root, words[0])
		if parent == nil {
			parent = a.group(words[0], groupShort[words[0]])
			root.AddCommand(parent)
		}
	}
	parent.AddCommand(a.command(v, words[len(words)-1]))
}

func child(parent *cobra.Command, name string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// group makes a command that only leads to others.
func (a *app) group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if v := cmd.Flags().Lookup("version"); v != nil && v.Changed {
				verb := commands.Lookup("version")
				return a.run(cmd.Context(), verb, verb.NewRequest())
			}
			return cmd.Help()
		},
	}
}

func unknownVerb(cmd *cobra.Command, word string) error {
	hint := fmt.Sprintf("`%s --help` lists the verbs.", cmd.CommandPath())
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = fmt.Sprintf("Did you mean %s?", strings.Join(near, " or "))
	}
	return &fault.Error{Kind: fault.Usage, Err: fmt.Errorf("%s has no verb %q", cmd.CommandPath(), word), Hint: hint}
}

// command makes the command of a verb.
func (a *app) command(v *commands.Verb, word string) *cobra.Command {
	request := v.NewRequest()
	cmd := &cobra.Command{
		Use: strings.Join(append([]string{word}, argNames(v)...), " "), Short: v.Short, SuggestFor: v.Near,
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		Annotations: map[string]string{verbKey: v.Name},
		Args: func(cmd *cobra.Command, args []string) error {
			return setArgs(v, request, args, cmd.ArgsLenAtDash())
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context(), v, request) },
		ValidArgsFunction: a.completeArgs(v),
	}
	for _, f := range v.Fields {
		if f.Flag != "" {
			a.addFlag(cmd, f, request)
		}
	}
	// What follows the name of a command to run belongs to that command; flags
	// may stand behind names of checkpoints.
	rest := restOf(v)
	cmd.Flags().SetInterspersed(rest == nil || rest.Complete != "")
	return cmd
}
