package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// limitsKey is the table of the limits in a forklift.toml.
const limitsKey = "limits"

// Limits bound what the store takes of the disk. Sizes are text such as
// "20GB" (10^9 bytes each) or "20GiB" (2^30); "" is no limit.
type Limits struct {
	StoreSize string `toml:"store_size,omitempty"` // largest size of the store at which a capture begins
	FreeSpace string `toml:"free_space,omitempty"` // what must be free on its file system
}

// Bytes gives the limits in bytes; 0 is none.
func (l Limits) Bytes() (storeSize, freeSpace int64) {
	storeSize, _ = ParseSize(l.StoreSize) // ParseMachine has refused what is none
	freeSpace, _ = ParseSize(l.FreeSpace)
	return storeSize, freeSpace
}

// fill sets the limits from the decoded table, or says what is wrong with it.
func (l *Limits) fill(value any) string {
	table, ok := value.(map[string]any)
	if !ok {
		return `limits must be a table: a line "[limits]" and its keys below`
	}
	known := map[string]*string{"store_size": &l.StoreSize, "free_space": &l.FreeSpace}
	keys := make([]string, 0, len(table))
	for key := range table {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		field, ok := known[key]
		if !ok {
			return fmt.Sprintf("unknown key %q in limits; it has store_size and free_space", key)
		}
		text, ok := table[key].(string)
		if !ok {
			return fmt.Sprintf(`%s must be text such as "20GB"`, key)
		}
		if _, err := ParseSize(text); err != nil {
			return fmt.Sprintf("%s: %v", key, err)
		}
		*field = text
	}
	return ""
}

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGT]?)(i?)B?$`)

// ParseSize reads a number of bytes such as "20GB", "1.5 TiB" or "4096"; ""
// is 0.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	m := sizePattern.FindStringSubmatch(text)
	if m == nil || m[2] == "" && m[3] != "" {
		return 0, fmt.Errorf(`%q is not a size such as "20GB" or "500MiB"`, text)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size: %w", text, err)
	}
	base := 1000.0
	if m[3] != "" {
		base = 1024
	}
	power := map[string]float64{"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}[m[2]]
	if n *= math.Pow(base, power); n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is more than any disk holds", text)
	}
	return int64(n), nil
}
