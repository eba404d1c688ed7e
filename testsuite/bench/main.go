// Command bench measures Forklift in one run, every figure beside the others:
// how long a bare PostgreSQL takes to stop and start, what a capture of a
// one-row change costs while the server runs, what restores and a setup from a
// seed cost, for databases of several sizes. It prints a table, and JSON to
// the file that -json names.
//
//	bench -forklift bin/forklift [-sizes 8,64,256] [-rounds 7] [-json FILE] [-dir DIRECTORY]
//	bench -editors [-files 100000] [-worktrees 20] ...
//
// With -editors it measures instead what an editor waits for: the daemon's
// start, round trips, and how long after a save or a capture the new status is
// pushed, in a small repository and in one of many files.
//
// Times are medians. "wall" is the whole command as a user waits for it,
// process start included; "away" is how long the server did not accept
// connections. Everything happens below -dir, on the file system that is to be
// measured; nothing is left there.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"forklift/testsuite/internal/harness"
)

// options are the command line.
type options struct {
	forklift, json, dir string
	sizes               []int // MiB of payload
	rounds              int
	editors             bool
	files, worktrees    int // with editors
}

// report is everything that was measured.
type report struct {
	System  string   `json:"system"`
	CPUs    int      `json:"cpus"`
	Rounds  int      `json:"rounds"`
	Results []result `json:"results"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	opt, err := parse()
	if err != nil {
		log.Fatal(err)
	}
	if err := run(opt); err != nil {
		log.Fatal(err)
	}
}

// parse reads the command line.
func parse() (options, error) {
	opt := options{}
	sizes := "8,64,256"
	flag.StringVar(&opt.forklift, "forklift", "bin/forklift", "the program to measure")
	flag.StringVar(&sizes, "sizes", sizes, "sizes of the database's payload in MiB")
	flag.IntVar(&opt.rounds, "rounds", 7, "measurements per figure; the median counts")
	flag.StringVar(&opt.json, "json", "", "file to write the figures to as JSON")
	flag.StringVar(&opt.dir, "dir", "", "directory to work in; a temporary one without it")
	flag.BoolVar(&opt.editors, "editors", false, "measure what editors get instead")
	flag.IntVar(&opt.files, "files", 100_000, "with -editors: files of the large repository")
	flag.IntVar(&opt.worktrees, "worktrees", 20, "with -editors: worktrees that one editor has open")
	flag.Parse()
	for _, text := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return opt, fmt.Errorf("-sizes: %q is not a size in MiB", text)
		}
		opt.sizes = append(opt.sizes, n)
	}
	path, err := filepath.Abs(opt.forklift)
	opt.forklift = path
	return opt, err
}

// run measures each size and prints.
func run(opt options) error {
	pg, err := harness.PostgresBin()
	if err != nil {
		return err
	}
	if opt.editors {
		r, err := editors(opt, pg)
		if err != nil {
			return err
		}
		fmt.Print(editorsTable(r))
		return save(opt.json, r)
	}
	rep := report{System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Rounds: opt.rounds}
	for _, size := range opt.sizes {
		fmt.Fprintf(os.Stderr, "measuring with %d MiB …\n", size)
		r, err := measure(opt, pg, size)
		if err != nil {
			return fmt.Errorf("%d MiB: %w", size, err)
		}
		rep.Results = append(rep.Results, r)
	}
	fmt.Print(table(rep))
	return save(opt.json, rep)
}

// save writes figures as JSON; "" is no file.
func save(name string, figures any) error {
	data, err := json.MarshalIndent(figures, "", "  ")
	if err != nil || name == "" {
		return err
	}
	return os.WriteFile(name, append(data, '\n'), 0o644)
}
