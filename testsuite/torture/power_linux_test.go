package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forklift/testsuite/internal/harness"

	"golang.org/x/sys/unix"
)

// How the file system is cut off: nothing more gets to the disk, and what was
// not committed to its journal yet is lost. With the processes killed at the
// same moment that is what a power cut leaves of ext4.
const (
	ext4Shutdown = 0x8004587d // EXT4_IOC_SHUTDOWN
	noLogFlush   = 2
)

// diskBytes is the size of the file system that a world lives on.
const diskBytes = 768 << 20

// cuts is how many cuts a verb gets, beside those around its switch.
func cuts() int {
	if everything {
		return 60
	}
	return 4
}

// disk is a file system of its own on a loop device, mounted at root/w.
type disk struct {
	*world
	device string
	boots  int
}

// newDisk makes a world on a disk of its own. It skips the test where that
// cannot be done.
func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount file systems")
	}
	for _, program := range []string{"losetup", "mkfs.ext4", "mount", "umount", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s here", program)
		}
	}
	d := &disk{world: &world{World: harness.NewRoot(t)}}
	if err := os.Mkdir(d.at(), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(d.image())
	if err == nil {
		err = file.Truncate(diskBytes)
		file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", d.image()).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device here: %s", out)
	}
	d.device = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		_ = exec.Command("umount", "-l", d.at()).Run()
		_ = exec.Command("losetup", "-d", d.device).Run()
	})
	d.program(t, "mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", d.device)
	d.program(t, "mount", "-t", "ext4", d.device, d.at())
	return d
}

func (d *disk) at() string    { return filepath.Join(d.Root, "w") }
func (d *disk) image() string { return filepath.Join(d.Root, "disk") }

// program runs one that has to succeed.
func (d *disk) program(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// keep copies the disk of the world at rest, to begin from again.
func (d *disk) keep(t *testing.T) {
	t.Helper()
	d.program(t, "umount", d.at())
	d.program(t, "losetup", "-d", d.device)
	d.program(t, "cp", "--sparse=always", d.image(), d.image()+".kept")
	d.insert(t)
}

// begins makes the disk what it was when it was kept, and the boot the first one.
func (d *disk) begins(t *testing.T) {
	t.Helper()
	d.Wrap = nil
	d.program(t, "umount", d.at())
	d.program(t, "losetup", "-d", d.device)
	d.program(t, "cp", "--sparse=always", d.image()+".kept", d.image())
	d.insert(t)
}

// insert mounts the disk; the device stays the same one.
func (d *disk) insert(t *testing.T) {
	t.Helper()
	d.program(t, "losetup", d.device, d.image())
	d.program(t, "mount", "-t", "ext4", d.device, d.at())
}

// cut cuts the power and boots again: processes end, what was not flushed is
// gone, the boot has another id.
func (d *disk) cut(t *testing.T) {
	t.Helper()
	dir, err := os.Open(d.at())
	if err != nil {
		t.Fatal(err)
	}
	err = unix.IoctlSetPointerInt(int(dir.Fd()), ext4Shutdown, noLogFlush)
	dir.Close()
	if err != nil {
		t.Fatalf("shut the file system down: %v", err)
	}
	left, err := harness.Leftovers(d.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range left {
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
	d.alone(t)
	d.program(t, "umount", d.at())
	d.program(t, "mount", "-t", "ext4", d.device, d.at())
	d.boots++
	id := filepath.Join(d.Root, "boot")
	if err := os.WriteFile(id, fmt.Appendf(nil, "00000000-0000-4000-8000-%012d\n", d.boots), 0o644); err != nil {
		t.Fatal(err)
	}
	d.Wrap = []string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`, id}
}

// TestPowerCut cuts the power of a real file system at steps all over each
// verb, and around its switch: after recover, files and database together are
// exactly as before or exactly as after. The verbs come one after the other:
// a mount namespace would keep the disk of another from being unmounted.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	d.Fill(t, shared.bin, shared.pg, files)
	d.live(t)
	d.keep(t)
	before := d.describe(t)
	d.rest(t)
	for _, name := range []string{"captureRunning", "restoreRunning", "undo"} {
		t.Run(name, func(t *testing.T) {
			s := sweeps[name]
			d.begins(t)
			steps := d.traceHere(t, s)
			after := d.describe(t)
			d.rest(t)
			c := newTally("power cut during " + strings.Join(s.argv, " "))
			text := restoreSwitch
			if s.argv[0] == "capture" {
				text = captureSwitch
			}
			for at, n := range cutAt(t, steps, text) {
				c.add(n, t.Run(strconv.Itoa(n), func(t *testing.T) { d.round(t, s, at, before, after) }))
			}
			c.report(t)
		})
	}
	t.Run("taken back", d.takenBack)
}

// backStride: without everything, recover --back is killed at one of so many steps.
const backStride = 4

// takenBack kills a restore behind its switch, and then recover --back at its
// own steps. It needs a disk, because what proves the old slot untouched are
// the inodes and the times of its files, and no other copy of a world has them.
func (d *disk) takenBack(t *testing.T) {
	s := sweeps["restore"]
	d.begins(t)
	before := d.describe(t)
	d.rest(t)
	d.begins(t)
	steps := d.traceHere(t, s)
	after := d.describe(t)
	d.rest(t)
	d.begins(t)
	forward := d.killed(t, s, behind, steps)
	d.keep(t)
	c := newTally("recover --back")
	c.sweep(t, func(n int) bool { return everything || n%backStride == 0 }, func(t *testing.T, n int) bool {
		d.begins(t)
		return d.nested(t, []string{"recover", "--back"}, n, forward, before, after)
	})
	c.report(t)
}

// cutAt picks the places of a verb, with their steps: some all over it, and the
// two behind the call that is its switch, when that is made but not flushed, and
// when it is.
func cutAt(t *testing.T, steps []string, text string) map[place]int {
	wanted := map[place]int{}
	for i := range cuts() {
		n := 1 + (i+1)*len(steps)/(cuts()+1)
		wanted[place{n: n}] = n
	}
	n := theSwitch(t, steps, text)
	wanted[place{1, text}], wanted[place{2, text}] = n+1, n+2
	return wanted
}

// round is one cut.
func (d *disk) round(t *testing.T, s sweep, at place, before, after state) {
	d.begins(t)
	d.begin(t, s)
	killed, step := d.kill(t, at, s.argv...)
	d.cut(t)
	t.Logf("killed: %v, %s", killed, step)
	forward, there := d.interrupted(t)
	direction := d.recovered(t)
	t.Logf("journal: %v, forward: %v, recovered: %s", there, forward, direction)
	if there && (direction == "forward") != forward {
		t.Fatalf("status said forward: %v, recover went %s", forward, direction)
	}
	d.settled(t, before, after, direction)
}
