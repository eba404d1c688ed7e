// Package plan names the plans of verbs that destroy or replace something, so
// that what is done is exactly what was shown.
//
// A verb describes what it would do in a struct, shows it together with its
// [ID], and later does it only if the same description comes out again:
//
//	p := describe(...)               // only what would be done: no times, no progress
//	id := plan.ID(p)                 // shown: --yes --plan ID
//	...
//	p = describe(...)                // again, under the locks
//	err := plan.Check("forget", given, plan.ID(p))
//
// The description holds the actions and nothing else. What may differ between
// two runs without changing them (ages, totals of the store, free space) is
// not part of it, or every plan would be out of date at once.
package plan

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"forklift/storage/fault"

	"github.com/zeebo/blake3"
)

// idBytes is how much of the hash an id keeps: enough that two plans of one
// user never have the same, short enough to type.
const idBytes = 6

// ID gives the id of a plan: 12 hexadecimal digits of the BLAKE3 of its JSON,
// in which structs have their fields in order and maps are sorted by key. It
// panics if v cannot be written as JSON, which is a mistake in the program.
func ID(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("plan: %v", err))
	}
	sum := blake3.Sum256(data)
	return hex.EncodeToString(sum[:idBytes])
}

// Check refuses a plan that would differ from the one that was shown. want is
// the id that the user gave, "" if he gave none; got is that of the present plan.
func Check(op, want, got string) error {
	if want == "" || want == got {
		return nil
	}
	return &fault.Error{Op: op, Path: want, Kind: fault.Usage,
		Err:  fmt.Errorf("what it would do now is plan %s, not plan %s: nothing was changed", got, want),
		Hint: "Look at the new plan, then give its id, or leave --plan out."}
}
