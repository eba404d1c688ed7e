package plan

import (
	"strings"
	"testing"

	"forklift/storage/fault"
)

func TestID(t *testing.T) {
	type actions struct {
		Remove []string
		Sizes  map[string]int
	}
	a := actions{[]string{"a", "b"}, map[string]int{"x": 1, "y": 2}}
	if id := ID(a); len(id) != 12 || id != ID(actions{[]string{"a", "b"}, map[string]int{"y": 2, "x": 1}}) {
		t.Errorf("ids %s", id)
	}
	if ID(a) == ID(actions{[]string{"b", "a"}, a.Sizes}) {
		t.Error("another order has the same id")
	}
}

func TestCheck(t *testing.T) {
	if err := Check("forget", "", "abc"); err != nil {
		t.Error(err)
	}
	if err := Check("forget", "abc", "abc"); err != nil {
		t.Error(err)
	}
	err := Check("forget", "old", "new")
	if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "plan new, not plan old") {
		t.Errorf("%v", err)
	}
}
