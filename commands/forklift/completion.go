package main

import (
	"bytes"
	"context"
	_ "embed" // of the script for bash
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"forklift/commands"
)

// bashCompletion is our own: cobra's needs the package bash-completion, and
// says so at every key without it.
//
//go:embed completion.bash
var bashCompletion string

// CompletionRequest asks for the completion script of a shell.
type CompletionRequest struct {
	Shell string `json:"shell" arg:"SHELL" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell"`
}

// CompletionResult is the script.
type CompletionResult struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// completionVerb is a verb that only a command line can have.
func (a *app) completionVerb() *commands.Verb {
	return commands.NewVerb(commands.Verb{
		Name: "completion", Group: commands.GroupMachine, ReadOnly: true, Alone: true,
		Short: "Print the completion script of a shell",
		Long: `Prints a script that completes verbs, flags and the names of checkpoints
(WORKTREE:NAME for those of other worktrees), seeds and the commands of
.forklift.json. It needs nothing but the shell.`,
		Examples: []commands.Example{
			{Line: "source <(forklift completion bash)", What: "in ~/.bashrc"},
			{Line: `forklift completion zsh > "${fpath[1]}/_forklift"`, What: "once, for zsh"},
			{Line: "forklift completion fish > ~/.config/fish/completions/forklift.fish", What: "once, for fish"},
		},
	}, func(_ context.Context, _ commands.Env, req CompletionRequest) (CompletionResult, error) {
		script, err := a.script(req.Shell)
		return CompletionResult{Shell: req.Shell, Script: script}, err
	})
}

func (a *app) script(shell string) (string, error) {
	root := a.tree()
	var b bytes.Buffer
	generate := map[string]func() error{
		"bash":       func() error { _, err := b.WriteString(bashCompletion); return err },
		"zsh":        func() error { return root.GenZshCompletion(&b) },
		"fish":       func() error { return root.GenFishCompletion(&b, true) },
		"powershell": func() error { return root.GenPowerShellCompletionWithDesc(&b) },
	}[shell]
	if generate == nil {
		return "", fmt.Errorf("no completion for %q", shell)
	}
	err := generate()
	return b.String(), err
}

// completeFunc is what cobra calls to complete a word.
type completeFunc = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completeArgs completes the arguments of a verb.
func (a *app) completeArgs(v *commands.Verb) completeFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		n := len(args)
		for _, f := range v.Fields {
			if f.Arg == "" {
				continue
			}
			if f.Dash && cmd.ArgsLenAtDash() < 0 {
				break
			}
			if isRest(f) && f.Complete != "" && !f.Dash {
				return a.completeField(f)(cmd, args, word)
			}
			if isRest(f) || f.Dash {
				return nil, cobra.ShellCompDirectiveDefault
			}
			if n == 0 {
				return a.completeField(f)(cmd, args, word)
			}
			n--
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeField completes the value of a field: from its list of allowed
// values, from the engine, or as a file name.
func (a *app) completeField(f commands.Field) completeFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		switch {
		case f.Complete == "file" || f.Complete == "path":
			return nil, cobra.ShellCompDirectiveDefault
		case f.Enum != nil:
			return withPrefix(f.Enum, word), cobra.ShellCompDirectiveNoFileComp
		case f.Complete == "":
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		env, err := a.env()
		if err == nil {
			env, err = a.wire(env)
		}
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if f.Complete == "command" {
			directive = cobra.ShellCompDirectiveDefault // behind -- it is a program
		}
		if f.Complete == "checkpoint-path" {
			directive |= cobra.ShellCompDirectiveNoSpace // more of the path may follow
		}
		return withPrefix(commands.CompleteWord(cmd.Context(), env, f.Complete, word), word), directive
	}
}

func withPrefix(names []string, prefix string) []string {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return out
}
