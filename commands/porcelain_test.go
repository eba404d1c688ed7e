package commands_test

import (
	"testing"

	"forklift/commands"
	"forklift/engine"
)

// TestPorcelain pins what scripts read.
func TestPorcelain(t *testing.T) {
	full := engine.StatusResult{
		Worktree: engine.WorktreeInfo{Name: "shop"}, Checkpoint: &engine.Checkpoint{Name: "two", Worktree: "other"}, AgeSeconds: 90,
		Server: engine.ServerInfo{State: "running"}, Holders: make([]engine.HolderInfo, 2), App: &engine.StoppedApp{}, Trusted: true,
		Interrupted: &engine.Interrupted{Verb: "restore"},
	}
	for want, s := range map[string]engine.StatusResult{
		"# forklift status 1\nworktree shop\nstate interrupted\noperation restore\ncheckpoint two\nfrom other\nage 90\nserver running\ncommands 2\napp stopped\ntrusted yes\n": full,
		"# forklift status 1\nworktree a\\nb \"c\" \\\\ \\x1b ä\nstate ok\ncommands 0\ntrusted no\n": {
			Worktree: engine.WorktreeInfo{Name: "a\nb \"c\" \\ \x1b ä"}},
		"# forklift status 1\nworktree w\nstate busy\noperation capture\ncheckpoint one\nage 0\nserver stopped\ncommands 0\ntrusted no\n": {
			Worktree: engine.WorktreeInfo{Name: "w"}, Operation: &engine.RunningOp{Verb: "capture"},
			Checkpoint: &engine.Checkpoint{Name: "one", Worktree: "w"}, Server: engine.ServerInfo{State: "stopped"}},
	} {
		if got := commands.Porcelain(&s); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
