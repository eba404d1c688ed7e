// Package worktree is the source half of a checkpoint: which files of a git
// worktree a capture saves, and how a restore puts them back.
//
// # What is saved
//
// [Rules] turns the selection of a .forklift.json into the rules of a scan.
// Everything below the selected paths is saved as it is on disk: uncommitted
// and untracked files, modes, symbolic links (as links), empty directories,
// user attributes, names of any bytes. Left out are `.git` in any spelling,
// staging directories, .forklift.json unless a source names it, what the
// selection ignores, other repositories, sockets, FIFOs and devices. The last
// four are entries of the manifest too (Omitted): a restore leaves them alone.
//
// # What a restore changes
//
// The safety pair S says what was there; it covers the present selection and
// every path that the restore may write ([Covered]). The target T says what is
// to be there. The plan compares the two manifests:
//
//   - A path that only T has is created; one that differs is replaced; where
//     only the mode differs, only that is set. Equal files are not
//     touched and keep their time.
//   - A path that only S has is removed if T speaks for it: T's rules select
//     it, or T covers it. Where T left out what git ignores, its rules include
//     the .gitignore files as they are after the restore: T's own, and the
//     present ones where T does not speak for them. What S did not save is
//     never removed, and neither is what is at or below a path that T omitted.
//   - Nothing that is not saved is ever replaced: not by a file, and not a
//     directory that holds such a thing. That is refused, by name.
//   - T's entries are checked as what they are, paths that somebody else may
//     have chosen: no `..`, no `.git`, nothing outside T's own sources.
//
// # Modes
//
// All bits of a mode are saved and come back: setuid, setgid and sticky, too. A new
// directory below a setgid one has the mode that the checkpoint says, not
// the bit that it inherits. Owners and groups are not saved, and that limits two bits:
//
//   - Setuid and setgid of a regular file are saved, set and compared only where
//     the file is the user's own, setgid where it has the user's group: see
//     [storage.KeptMode]. In a directory that others can write to, anybody may
//     put a setuid program of his; it must not become one of ours.
//   - A directory whose group is none of the user's cannot be given setgid by
//     anybody but root. It stays without, the restore says so ([Install.Warnings])
//     and is complete; the same attempt again would end the same way.
//
// A file system that does not keep the special bits of a file is found when the file is
// staged, before anything was touched. Checkpoints made before these bits
// were saved have none of them, and restoring one takes them away, as it takes
// away everything else that it does not have; undo brings them back.
//
// # How it is installed
//
// [Stage] writes every new file into `.forklift-staging-<operation>` at the top
// of the worktree, on its file system, with its mode and attributes, flushes
// it, and then writes the install list: for each path, numbered, what is wanted
// and what was saved. A list is complete when its head record exists; that
// is written last. new/N is what step N installs, old/N (old/N.1, ...) what it
// displaced. Until then nothing of the user's was touched, and going back is
// deleting that directory.
//
// [Install.Run] works through a [vfs.Root], which follows no symbolic link in
// any element of a name, so that a link planted meanwhile cannot redirect
// anything. It changes the worktree by renaming, linking and making names
// only, never by writing into a file, in five passes:
//
//	open    directories that their mode protects become writable
//	clear   bottom up: what must be gone is renamed to old/N
//	place   top down: new directories and links are made; a new file gets its
//	        second name by a hard link from new/N, after what is there was
//	        renamed to old/N
//	modes   bottom up: modes of directories, and of files that only differ
//	        in them
//	flush   every directory and mode that was changed
//
// A link, unlike a rename, fails when somebody made the name in the meantime;
// then that is displaced too. So whatever is displaced still exists, under a
// name that says which path it had, and is looked at afterwards: if it is
// neither what S nor what T has, somebody edited it meanwhile; it is a [Rescue].
//
// # Why it always ends
//
// Run decides at each step by what is there, not by what it remembers, so it
// can be run again after a crash at any moment, also one that lost or kept any
// of the calls that were not flushed. The states of a step, and what Run makes
// of them:
//
//	the path is the same file as new/N          done
//	it has the wanted type and content          done; only the mode may be set
//	nothing is there                            link new/N, or make it
//	anything else is there                      rename it to a free old/N.k, go on
//	new/N is lost, or was written to            make it again from the store
//	a path that is to be gone is gone           done
//	a directory that is to be gone has content  it stays: what is in it is not ours
//
// Each row leads to an earlier one, and only somebody who writes the same path
// again and again can go back to "anything else"; after 16 times that is an
// error. A crash between the rename and the link leaves the path absent: its
// content is in old/N, in S, or both, and the next run links new/N. Displaced
// names are never reused, so a second run cannot displace over what the first
// one rescued. A path that one step removes and another makes (a directory
// that becomes a file, a name that changes its case) is cleared in the pass
// before; a second run finds the staged file's inode there and does not clear
// it again.
//
// Going back after the switch is the same thing the other way round: an install
// of S over T, staged in a directory of its own (`...-back`) from the store.
// Each path is then as S has it, as T has it, absent, or somebody's edit,
// and these are the rows above. It can be cut off and run again like the other,
// and nothing of it depends on how far the first one came. If a list is lost
// (somebody removed the staging directory), Stage makes it again from S and T;
// displaced files without a list are kept aside and reported ([Leftovers]).
//
// What somebody edits after it was installed is a later edit: [Install.Verify]
// does not take it for a failure, and no second run happens that could displace
// it, unless a crash makes one necessary; then it is rescued.
package worktree
