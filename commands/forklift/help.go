package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forklift/commands"
)

const rootHelp = `Forklift gives every git worktree a PostgreSQL database of its own, and saves
source files and database together as checkpoints. Restoring one puts both
back, or neither.
`

const rootExamples = `EXAMPLES
  forklift setup                       give this worktree a database
  forklift run -- npm test             run anything against it
  forklift capture before-migration    save files and database
  forklift restore before-migration    put both back
  forklift undo                        take that back
`

const rootEnvironment = `ENVIRONMENT
  FORKLIFT_STORE   the store of new projects (default: forklift in the user's data directory)
  FORKLIFT_PG_BIN  the directory of the PostgreSQL programs to use
  NO_COLOR         print no colours
`

// globalFlags are the flags that every verb has.
var globalFlags = [][2]string{
	{"-C, --directory DIR", "run as if started in DIR"},
	{"    --json", "print the result, or the error, as JSON on stdout"},
	{"-h, --help", "print this help"},
}

// helpCommand is `forklift help [VERB]`.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "Print help about a verb", SilenceErrors: true, SilenceUsage: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			at, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range at.Commands() {
				names = append(names, c.Name())
			}
			return withPrefix(names, word), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownVerb(at, append(rest, args...)[0])
			}
			return at.Help()
		},
	}
}

// help is the text for a command.
func (a *app) help(cmd *cobra.Command) string {
	switch v := a.verb(cmd); {
	case v != nil:
		return verbHelp(v)
	case !cmd.HasParent():
		return a.rootHelp()
	case cmd.Name() == "help":
		return "Print help about a verb.\n\nUSAGE\n  forklift help [VERB]\n"
	}
	return a.groupHelp(cmd)
}

// verb is the verb of a command, the command line's own included.
func (a *app) verb(cmd *cobra.Command) *commands.Verb {
	for _, v := range a.verbs() {
		if cmd.Annotations[verbKey] == v.Name {
			return v
		}
	}
	return nil
}

func (a *app) rootHelp() string {
	var b strings.Builder
	b.WriteString(rootHelp + "\nUSAGE\n  forklift VERB [ARGUMENT...] [FLAG...]\n")
	for _, group := range commands.Groups {
		var rows [][2]string
		for _, v := range a.verbs() {
			if v.Group == group {
				rows = append(rows, [2]string{v.Name, v.Short})
			}
		}
		fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(string(group)))
		writePairs(&b, rows, 17)
	}
	b.WriteString("\n\"forklift VERB --help\" tells more about a verb. \"forklift project VERB\" is another\nspelling of every verb that acts on a worktree.\n")
	b.WriteString("\nFLAGS\n")
	writePairs(&b, append(slices.Clone(globalFlags), [2]string{"-v, --version", "print the version"}), 19)
	b.WriteString("\n" + rootExamples + "\n" + exitStatus(commands.ExitCodes) + "\n" + rootEnvironment)
	return b.String()
}

func (a *app) groupHelp(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUSAGE\n  %s VERB [ARGUMENT...] [FLAG...]\n\nVERBS\n", cmd.Short, cmd.CommandPath())
	var rows [][2]string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			rows = append(rows, [2]string{c.Name(), c.Short})
		}
	}
	writePairs(&b, rows, 9)
	fmt.Fprintf(&b, "\n%q tells more about a verb.\n", cmd.CommandPath()+" VERB --help")
	return b.String()
}

// verbHelp is the whole text about a verb, made from its descriptor.
func verbHelp(v *commands.Verb) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", v.Short)
	if v.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", v.Long)
	}
	fmt.Fprintf(&b, "\nUSAGE\n  %s\n", usageLine(v))
	var args, flags [][2]string
	for _, f := range v.Fields {
		if f.Arg != "" {
			args = append(args, [2]string{strings.TrimPrefix(strings.Trim(f.Arg, "[]"), "-- "), f.Help})
			continue
		}
		text := f.Help
		if f.Default != "" {
			text += " (default: " + f.Default + ")"
		}
		flags = append(flags, [2]string{flagNames(f), text})
	}
	if len(args) > 0 {
		b.WriteString("\nARGUMENTS\n")
		writePairs(&b, args, 19)
	}
	b.WriteString("\nFLAGS\n")
	writePairs(&b, append(flags, globalFlags...), 19)
	if len(v.Examples) > 0 {
		b.WriteString("\nEXAMPLES\n")
		for _, e := range v.Examples {
			if e.What != "" {
				fmt.Fprintf(&b, "  # %s\n", e.What)
			}
			fmt.Fprintf(&b, "  %s\n", e.Line)
		}
	}
	if v.Exits == nil {
		b.WriteString("\n\"forklift --help\" lists the exit codes.\n")
	} else {
		b.WriteString("\n" + exitStatus(v.Exits))
	}
	return b.String()
}

func usageLine(v *commands.Verb) string {
	line := "forklift " + v.Name
	if v.Name == "run" {
		return line + " [FLAG...] NAME [ARG...]\n  " + line + " [FLAG...] -- COMMAND [ARG...]"
	}
	if v.Name == "seed refresh" {
		return line + " [FLAG...] NAME -- COMMAND [ARG...]"
	}
	behind := ""
	for _, name := range argNames(v) {
		if strings.HasPrefix(name, "[-- ") {
			behind = " " + name
			continue
		}
		line += " " + name
	}
	return line + " [FLAG...]" + behind
}

func flagNames(f commands.Field) string {
	names := "    --" + f.Flag
	if f.Short != "" {
		names = "-" + f.Short + ", --" + f.Flag
	}
	if f.Value != "" {
		names += " " + f.Value
	}
	return names
}

func exitStatus(codes []commands.Exit) string {
	var b strings.Builder
	b.WriteString("EXIT STATUS\n")
	for _, e := range codes {
		fmt.Fprintf(&b, "  %-3d  %s\n", e.Code, e.What)
	}
	return b.String()
}

// textWidth is the width of help.
const textWidth = 100

// writePairs writes names with what they mean, the meanings aligned and
// wrapped. A name that is too long gets a line of its own.
func writePairs(b *strings.Builder, rows [][2]string, width int) {
	for _, row := range rows {
		width = max(width, min(len(row[0]), 24))
	}
	indent := strings.Repeat(" ", width+4)
	for _, row := range rows {
		head := fmt.Sprintf("  %-*s  ", width, row[0])
		if len(row[0]) > width {
			head = "  " + row[0] + "\n" + indent
		}
		b.WriteString(head)
		used := len(indent)
		for i, word := range strings.Fields(row[1]) {
			if used+1+len(word) > textWidth && i > 0 {
				b.WriteString("\n" + indent)
				used = len(indent)
			} else if i > 0 {
				b.WriteString(" ")
				used++
			}
			b.WriteString(word)
			used += len(word)
		}
		b.WriteString("\n")
	}
}
