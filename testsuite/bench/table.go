package main

import (
	"fmt"
	"strings"
)

// rows are the figures of a result, in the order of the table.
var rows = []struct {
	name  string
	value func(result) figure
}{
	{"bare server: stop + start", func(r result) figure { return r.Floor }},
	{"seed create (SQL load)", func(r result) figure { return r.SeedCreate }},
	{"setup from the seed", func(r result) figure { return r.Setup }},
	{"capture: first", func(r result) figure { return r.FirstCapture }},
	{"capture: one row changed", func(r result) figure { return r.OneRow }},
	{"capture: nothing changed", func(r result) figure { return r.NoChange }},
	{"restore: first", func(r result) figure { return r.FirstRestore }},
	{"restore: first, prepared", func(r result) figure { return r.Prepared }},
	{"restore: second and later", func(r result) figure { return r.SecondRestore }},
	{"undo", func(r result) figure { return r.Undo }},
}

// table is the report for people.
func table(rep report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs, medians of %d\n", rep.System, rep.CPUs, rep.Rounds)
	for _, r := range rep.Results {
		fmt.Fprintf(&b, "\n%d MiB of rows, %s of files\n", r.PayloadMiB, size(r.DataBytes))
		fmt.Fprintf(&b, "  %-27s %9s %9s %9s %9s %9s %9s\n", "", "wall", "away", "read", "stored", "written", "memory")
		for _, row := range rows {
			f := row.value(r)
			fmt.Fprintf(&b, "  %-27s %9s %9s %9s %9s %9s %9s\n", row.name,
				ms(f.WallMs), ms(f.AwayMs), size(f.ReadBytes), size(f.StoredBytes), size(f.WriteBytes), size(f.MemoryBytes))
		}
	}
	return b.String()
}

// ms is a time in milliseconds, "-" for none.
func ms(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f ms", v)
}

// size is a number of bytes, "-" for none.
func size(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
