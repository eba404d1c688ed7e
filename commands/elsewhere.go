package commands

import (
	"context"
	"fmt"
	"unicode/utf8"

	"forklift/commands/internal/doctor"
)

// VariableLine is a line of a file such as .env that points a variable of the
// worktree's to another database, or to another service's address.
type VariableLine struct {
	File    string // at the top of the worktree
	Number  int    // from 1
	Text    string // the whole line
	Message string // what it does and what to do, without the value
}

// Elsewhere finds such lines, as doctor does. replaced are texts that count
// instead of those on disk, by name.
func Elsewhere(ctx context.Context, env Env, replaced map[string]string) ([]VariableLine, error) {
	return inWorktree(ctx, env, func(w Worktree) ([]VariableLine, error) {
		settings, err := w.Settings(ctx)
		if err != nil {
			return nil, err
		}
		files := w.VariableFiles(ctx)
		for name, text := range replaced {
			if _, ok := files[name]; ok {
				files[name] = []byte(text)
			}
		}
		if len(files) == 0 {
			return nil, nil
		}
		vars, err := w.Env(ctx)
		if err != nil {
			return nil, err
		}
		lines, _ := doctor.Misled(files, vars, settings.ConnectionEnv)
		var list []VariableLine
		for _, line := range lines {
			if utf8.ValidString(line.Text) {
				list = append(list, VariableLine{line.File, line.Number, line.Text,
					fmt.Sprintf("%s leads to %s, not to the database of this worktree. %s", line.Name, doctor.Target(line.Value), doctor.Elsewhere)})
			}
		}
		return list, nil
	})
}

// leadElsewhere are those lines as warnings, of a worktree that was set up
// now. What cannot be looked at is left to doctor.
func leadElsewhere(ctx context.Context, env Env) []string {
	lines, err := Elsewhere(ctx, env, nil)
	if err != nil {
		return nil
	}
	var list []string
	for _, line := range lines {
		list = append(list, fmt.Sprintf("%s:%d: %s", line.File, line.Number, line.Message))
	}
	return list
}
