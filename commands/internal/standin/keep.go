package standin

import (
	"context"
	"time"

	"forklift/engine"
	"forklift/storage"
)

func row(name string, age time.Duration, reasons ...string) engine.ForgetRow {
	return engine.ForgetRow{ID: storage.PairID("01jb" + name), Name: name, Worktree: "invoices", Kind: storage.Capture, Created: Now.Add(-age), Reasons: reasons}
}

func (w worktree) Forget(_ context.Context, opt engine.ForgetOptions) (*engine.ForgetResult, error) {
	return &engine.ForgetResult{Plan: "0123456789ab", Done: opt.Yes, FreeBytes: 12 << 20, Forget: []engine.ForgetRow{row("try-1", 48*time.Hour)},
		Keep: []engine.ForgetRow{row("after", time.Hour, "last", "daily")}}, w.e.call("forget", opt.Refs, opt.Yes, opt.Plan)
}

func (w worktree) Prune(_ context.Context, opt engine.PruneOptions) (*engine.PruneResult, error) {
	return &engine.PruneResult{Plan: "0123456789ab", Done: opt.Yes, Safety: []engine.ForgetRow{row("before-restore", 2000*time.Hour)}, Unfinished: 1,
			Remove: 2, Repack: 1, Stray: 1, Packs: 9, Bytes: 300 << 20, FreedBytes: 40 << 20, UnusedBytes: 3 << 20, Limited: true},
		w.e.call("prune", opt.Yes, opt.Plan)
}

func (w worktree) DiskUsage(_ context.Context, refs []string) (*engine.DiskUsage, error) {
	return &engine.DiskUsage{Checkpoints: Checkpoints(), Store: "/srv/store", Stored: storage.Totals{Packs: 9, Bytes: 300 << 20},
		Branches: []engine.BranchUsage{{Worktree: "invoices", Bytes: 70 << 20}}, FreeBytes: 9 << 30, StoreLimit: "20GB", FreeLimit: "5GB"}, w.e.call("du", refs)
}

func (w worktree) Check(_ context.Context, opt storage.CheckOptions) (*engine.CheckResult, error) {
	r := &engine.CheckResult{CheckReport: storage.CheckReport{Packs: 9, Indexes: 2, Blobs: 41234, Pairs: 3, Names: 3, Problems: []storage.Problem{},
		Unused: []string{"packs/ab/ab.pack"}}, Checkpoints: []string{}}
	if w.e.Damaged {
		r.Problems = []storage.Problem{{Path: "packs/cd/cd.pack", Error: "read pack: it is cut off", Pairs: []storage.PairID{"01jbc3"}}}
		r.Checkpoints = []string{"invoices:after"}
	}
	return r, w.e.call("check", opt)
}

func (w worktree) Repair(_ context.Context, opt engine.RepairOptions) (*engine.RepairResult, error) {
	r := storage.RepairReport{Packs: 9, Done: opt.Yes, Hurt: []storage.HurtPair{}, Plan: storage.RepairPlan{Lost: []string{"packs/cd/cd.pack"},
		Damaged: []string{"packs/ef/ef.pack"}, Indexes: []string{}, Reindex: []string{"packs/12/12.pack"}, Records: []string{}}}
	res := &engine.RepairResult{ID: "0123456789ab", RepairReport: r, Aside: "/srv/store/damaged", Names: map[string]string{}}
	if opt.Yes {
		res.Salvaged = 12
		res.Hurt = []storage.HurtPair{{PairRef: storage.PairRef{Project: "01jbpr", ID: "01jbc3"}, Name: "after", Worktree: "01jbwt", Kind: storage.Capture,
			Files: []string{"src/a"}, Count: 1}}
		res.Names["01jbc3"] = "invoices:after"
	}
	return res, w.e.call("repair", opt.Yes, opt.Plan)
}

func (w worktree) ChangeName(_ context.Context, ref, to string) (*engine.Checkpoint, error) {
	c := Checkpoints()[0]
	c.Name = to
	return &c, w.e.call("rename", ref, to)
}

func (w worktree) Note(_ context.Context, ref, text string) (*engine.Checkpoint, error) {
	c := Checkpoints()[0]
	c.Name, c.Note = ref, text
	return &c, w.e.call("note", ref, text)
}

func (w worktree) Protect(_ context.Context, ref string, protect bool) (*engine.Checkpoint, error) {
	c := Checkpoints()[0]
	c.Name, c.Protected = ref, protect
	return &c, w.e.call("protect", ref, protect)
}
