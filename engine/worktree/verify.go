package worktree

import (
	"context"
	"errors"
	"fmt"

	"forklift/storage"
	"forklift/storage/fault"
)

// Verify reads back what Run installed and fails, with the paths as Items,
// where it is not what it should be. What somebody changed after it had been
// installed is a later edit and no failure: a program that formats each file
// as soon as it changes must not turn a restore into an interrupted one.
func (in *Install) Verify(ctx context.Context) error {
	if len(in.steps) == 0 {
		return nil
	}
	root, err := in.fs.OpenRoot(in.dir)
	if err != nil {
		return fmt.Errorf("verify sources: %w", err)
	}
	defer root.Close()
	r := &runner{Install: in, prober: prober{ctx, root, in.store}, twins: in.twins(root)}
	var wrong []string
	for n := range in.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		why, err := r.verify(n)
		if err != nil && !absent(err) {
			return fmt.Errorf("verify sources: %w", err)
		}
		if why != "" && len(wrong) < maxNamed {
			wrong = append(wrong, QuotePath(in.steps[n].Path)+": "+why)
		}
	}
	if len(wrong) > 0 {
		return &fault.Error{Op: "verify sources", Kind: fault.Failed, Items: wrong, Err: errors.New(wrong[0]),
			Hint: "Run `forklift recover` to install it again."}
	}
	return nil
}

// verify says what is wrong with a step's path, "" for nothing.
func (r *runner) verify(n int) (string, error) {
	s := &r.steps[n]
	info, ok, err := r.lookFor(s)
	if err != nil {
		return "", err
	}
	if s.Want == nil {
		if !ok || info.IsDir() {
			return "", nil
		}
		same, err := r.matches(s.Path, info, s.Have, true)
		if same {
			return "it is still there", nil
		}
		return "", ignoreUnreadable(err)
	}
	if !ok {
		if s.modeOnly() {
			return "", nil // removed by somebody: the install never touched more than its mode
		}
		return "it is not there", nil
	}
	switch {
	case s.Want.Type == storage.Symlink:
		return "", nil // made in one call: another one is a later edit
	case s.Want.Type == storage.Directory && !info.IsDir():
		return "it is not a directory", nil
	case s.Want.Type == storage.Directory || s.modeOnly():
		want := s.Want.Mode
		if r.denied[s.Path] {
			want &^= setgid
		}
		if !sameMode(info, want) {
			return fmt.Sprintf("its mode is %04o, not %04o", info.Bits(), want), nil
		}
		return "", nil
	case info.Mtime != r.installedAt:
		return "", nil // right before, or a later edit
	}
	same, err := r.matches(s.Path, info, s.Want, true)
	if same || err != nil {
		return "", ignoreUnreadable(err)
	}
	// It may have been written to since it was looked at.
	if info, ok, err = r.lookFor(s); err != nil || ok && info.Mtime != r.installedAt {
		return "", err
	}
	return "its content or mode is not what was installed", nil
}

// ignoreUnreadable drops the error of a file that its mode keeps us from
// reading.
func ignoreUnreadable(err error) error {
	if unreadable(err) {
		return nil
	}
	return err
}
