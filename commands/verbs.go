package commands

import "strings"

// Verbs are all verbs that every front can have, in the order of help.
var Verbs = []*Verb{
	setupVerb, trustVerb, runVerb, teardownVerb, worktreeAddVerb, adoptVerb,
	seedCreateVerb, seedRefreshVerb, seedListVerb, seedRemoveVerb,
	captureVerb, restoreVerb, undoVerb, redoVerb, listVerb, showVerb, catVerb, diffVerb, statusVerb, logVerb, recoverVerb,
	worktreeListVerb, worktreePruneVerb,
	renameVerb, noteVerb, protectVerb, unprotectVerb, forgetVerb,
	envVerb, dbStartVerb, dbStopVerb, dbURLVerb, dbShellVerb,
	duVerb, pruneVerb, checkVerb, repairVerb,
	doctorVerb, postgresListVerb, postgresInstallVerb, versionVerb,
}

// Lookup finds a verb by its name, such as "db start"; nil if there is none.
func Lookup(name string) *Verb {
	name = strings.Join(strings.Fields(name), " ")
	for _, v := range Verbs {
		if v.Name == name {
			return v
		}
	}
	return nil
}
