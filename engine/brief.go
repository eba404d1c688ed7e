package engine

import (
	"context"
	"time"

	"forklift/storage"
)

// StatusBrief is Status without what has to be looked for: it neither scans
// the sources nor asks the server for its counters, so Files, Tables and
// their counts stay empty. It is made for prompts.
func (w *Worktree) StatusBrief(ctx context.Context) (*StatusResult, error) {
	res := &StatusResult{Worktree: w.Info(), Source: []string{}, Files: []FileChange{}, Tables: []TableChange{}, Holders: []HolderInfo{}}
	if err := w.statusOperation(ctx, res); err != nil {
		return nil, err
	}
	if err := w.statusProcesses(ctx, res); err != nil {
		res.Problems = append(res.Problems, problem(err))
	}
	if cfg, err := w.Config(ctx); err == nil {
		res.Source = cfg.Source
	}
	var err error
	if res.Trusted, err = w.Trusted(ctx); err != nil {
		res.Problems = append(res.Problems, problem(err))
	}
	sel, pair, err := w.currentPair(ctx)
	if err != nil {
		return nil, err
	}
	if sel.Project != "" {
		res.Checkpoint = w.resting(pair, sel)
		res.AgeSeconds = int64(w.host.Clock.Now().Sub(pair.Created) / time.Second)
	}
	return res, nil
}

// checkpointOwner is the name of the worktree that made a pair.
func (w *Worktree) checkpointOwner(pair *storage.Pair) string {
	if pair.Worktree != w.rec.ID {
		if rec, err := w.readRecord(pair.Worktree); err == nil {
			return rec.Name
		}
	}
	return w.rec.Name
}

// statusProcesses tells the server, the managed commands, and an app that was
// stopped.
func (w *Worktree) statusProcesses(ctx context.Context, res *StatusResult) error {
	server, err := w.serverInfo(ctx)
	if err != nil {
		return err
	}
	res.Server = *server
	holders, err := w.holders()
	for _, h := range holders {
		res.Holders = append(res.Holders, h.info())
	}
	if err != nil {
		return err
	}
	res.App, err = w.stoppedApp()
	return err
}
