package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// CheckFacts says by name why a cluster with these facts cannot be started
// here, or nil.
func (c *cluster) CheckFacts(ctx context.Context, data json.RawMessage) error {
	f, err := readFacts(data)
	if err != nil {
		return err
	}
	inst, err := c.installed(ctx, f.Major)
	if err != nil {
		return err
	}
	if f.Observed == nil {
		return nil
	}
	if err := checkLibraries(inst, f.Observed); err != nil {
		return err
	}
	return c.checkCollations(inst, f.Observed)
}

// readFacts decodes facts, and says by name why a cluster with them can be
// started by no server of this machine.
func readFacts(data json.RawMessage) (facts, error) {
	refuse := func(hint, format string, args ...any) error {
		return &fault.Error{Op: "check database", Kind: fault.Unsupported, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	var f facts
	if err := json.Unmarshal(data, &f); err != nil || f.Format != factsFormat {
		return f, refuse("A newer Forklift wrote it; use that one.", "its facts have format %d, %d is known (%w)", f.Format, factsFormat, err)
	}
	if f.Architecture != runtime.GOARCH {
		return f, refuse("A cluster's files can only be used on the kind of processor that wrote them.",
			"it was made on %s, this machine is %s", f.Architecture, runtime.GOARCH)
	}
	const block = 8192 // what every packaged PostgreSQL is built with
	if f.BlockBytes != block || f.WALPageBytes != block {
		return f, refuse("", "blocks of %d bytes and WAL pages of %d; %d is usual", f.BlockBytes, f.WALPageBytes, block)
	}
	return f, nil
}

// checkCollations refuses a cluster whose text is ordered by another version
// of a locale than this installation has: its indexes would be wrong. What the
// installation has is known from servers of this branch that it ran; the
// builtin provider is the same everywhere.
func (c *cluster) checkCollations(inst *Installation, o *observed) error {
	here := map[[2]string]string{}
	for _, slot := range []engine.Slot{engine.SlotA, engine.SlotB} {
		var rec observedRecord
		err := record.Read(c.opt.FS, c.observedFile(slot), observedKind, observedFormat, &rec)
		if err != nil || rec.Bin != inst.Bin {
			continue
		}
		for _, d := range rec.Observed.Databases {
			here[[2]string{d.Provider, d.Locale}] = d.Actual
		}
	}
	for _, d := range o.Databases {
		has := here[[2]string{d.Provider, d.Locale}]
		if has != "" && d.Actual != "" && has != d.Actual {
			return &fault.Error{Op: "check database", Path: inst.Bin, Kind: fault.Unsupported,
				Err:  fmt.Errorf("database %s was ordered by version %s of the %s locale %s, here that is %s", d.Name, d.Actual, d.Provider, d.Locale, has),
				Hint: "Use the PostgreSQL that it was made with; its indexes of text would be in the wrong order with this one."}
		}
	}
	return nil
}

// checkLibraries refuses a cluster whose extensions are not installed here:
// it would start, and fail at the first use.
func checkLibraries(inst *Installation, o *observed) error {
	var missing []string
	for _, d := range o.Databases {
		for name, version := range d.Extensions {
			control := filepath.Join(inst.ShareDir, "extension", name+".control")
			if _, err := os.Stat(control); inst.ShareDir != "" && errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, fmt.Sprintf("extension %s %s (database %s)", name, version, d.Name))
			}
		}
	}
	for _, name := range o.Libraries {
		if inst.LibDir == "" || strings.Contains(name, "/") {
			continue
		}
		if firstWith(escapeGlob(name)+".*", inst.LibDir) == "" {
			missing = append(missing, "library "+name+" (shared_preload_libraries)")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return &fault.Error{Op: "check database", Path: inst.Bin, Kind: fault.Unsupported, Items: missing,
		Err:  fmt.Errorf("PostgreSQL %s has not what the checkpoint needs: %s", inst.Version, strings.Join(missing, ", ")),
		Hint: "Install what is missing for that PostgreSQL, or name another bin directory in FORKLIFT_PG_BIN."}
}
