package fskind

import (
	"testing"

	"forklift/storage/vfs"
)

func TestKinds(t *testing.T) {
	m := vfs.NewMem()
	if k := OfDir(m, "/"); k != Simulated || !k.TimesMove() {
		t.Errorf("memory is %v", k)
	}
	// What the machine's temporary directory is on is not known, but it is
	// something that a process can read.
	if k := OfDir(vfs.OS(), t.TempDir()); k == Simulated || k.String() == "" {
		t.Errorf("the disk is %v", k)
	}
	if k := OfDir(vfs.OS(), t.TempDir()+"/absent"); k != Local {
		t.Errorf("what cannot be told is %v", k)
	}
	for k := Local; k <= User; k++ {
		if k.TimesMove() != (k <= Simulated) {
			t.Errorf("%v: times move %v", k, k.TimesMove())
		}
	}
}
