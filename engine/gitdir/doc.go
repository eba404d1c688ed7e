// Package gitdir reads git repositories without trusting them. (Manual to be completed with the package.)
package gitdir
