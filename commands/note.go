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

var noteVerb = NewVerb(Verb{
	Name: "note", Group: GroupCheckpoints, Worktree: true, Near: []string{"comment", "describe", "annotate"},
	Short: "Change the note of a checkpoint",
	Examples: []Example{
		{`forklift note before-migration "the last with the old schema"`, ""},
		{"forklift note before-migration --clear", "remove it"},
	},
}, Note)

// Note changes a checkpoint's note, durably when it returns nil.
func Note(ctx context.Context, env Env, req NoteRequest) (CheckpointResult, error) {
	if req.Clear == (req.Text != "") {
		return CheckpointResult{}, &fault.Error{Op: "note", Path: req.Ref, Kind: fault.Usage, Err: errors.New("it takes a text, or --clear, and one of the two"),
			Hint: "Quote a text that has spaces."}
	}
	return changed(ctx, env, func(w Worktree) (*engine.Checkpoint, error) { return w.Note(ctx, req.Ref, req.Text) })
}
