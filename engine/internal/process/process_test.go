package process

import (
	"os"
	"os/exec"
	"testing"
)

func TestAncestorsBeginWithOurselvesAndOurParent(t *testing.T) {
	line := Ancestors(os.Getpid())
	if len(line) < 2 || line[0].PID != os.Getpid() || line[1].PID != os.Getppid() {
		t.Fatalf("Ancestors = %+v, want it to begin with %d, %d", line, os.Getpid(), os.Getppid())
	}
	if !Alive(line[0].PID, line[0].Start) || Alive(line[0].PID, line[0].Start+1) {
		t.Errorf("Alive must hold for our start time %d only", line[0].Start)
	}
}

func TestZombieIsDead(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !Alive(pid, 0) {
		t.Error("a running child is not alive")
	}
	_ = in.Close()
	_, _ = out.Read(make([]byte, 1)) // end of file: the child has exited or is about to
	for !func() bool { i, err := Lookup(pid); return err == nil && i.Zombie }() {
		if _, err := Lookup(pid); err != nil {
			t.Fatal(err)
		}
	}
	if Alive(pid, 0) {
		t.Error("a zombie counts as alive")
	}
	_ = cmd.Wait()
}
