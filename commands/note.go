package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
)

// NoteRequest asks to change the note of a checkpoint.
type NoteRequest struct {
	Ref   string `json:"ref" arg:"NAME" complete:"checkpoint" help:"the checkpoint"`
	Text  string `json:"text,omitempty" arg:"[TEXT]" help:"the new note"`
	Clear bool   `json:"clear,omitempty" flag:"clear" help:"remove the note"`
}

// NoteResult is the checkpoint as it is now.
type NoteResult struct {
	engine.Checkpoint
}

var noteVerb = NewVerb(Verb{
	Name: "note", Group: GroupCheckpoints, Worktree: true, Near: []string{"comment", "describe", "annotate"},
	Short: "Change the note of a checkpoint",
	Examples: []Example{
		{`forklift note before-migration "the last with the old schema"`, ""},
		{"forklift note before-migration --clear", "remove it"},
	},
}, Note)

// Note changes a checkpoint's note, durably when it returns nil.
func Note(ctx context.Context, env Env, req NoteRequest) (NoteResult, error) {
	if req.Clear == (req.Text != "") {
		return NoteResult{}, &fault.Error{Op: "note", Path: req.Ref, Kind: fault.Usage, Err: errors.New("it takes a text, or --clear, and one of the two"),
			Hint: "Quote a text that has spaces."}
	}
	return inWorktree(ctx, env, func(w Worktree) (NoteResult, error) {
		c, err := w.Note(ctx, req.Ref, req.Text)
		if err != nil {
			return NoteResult{}, err
		}
		return NoteResult{*c}, nil
	})
}
