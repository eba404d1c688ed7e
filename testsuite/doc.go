// Package testsuite tests Forklift as a whole: the built binary against real
// git repositories and real PostgreSQL servers.
//
//	scripts/*.txtar   one scenario per file, run by script_test.go; the first
//	                  word of a name is the verb that it is about
//	policy/           rules of the source tree, as tests
//	torture/          kills every verb at every step and checks what recover makes of it
//	daemon/           the editors' daemon and its fronts, as processes
//	editor_test.go    scripted editors and the command line on one worktree
//	bench/            the figures, all in one run
//	demo/             the invoicing demonstration that `make demo` plays
//	postgres17.sh     puts PostgreSQL 17 with pgvector into a directory, for tests
//
// Real servers are started only here and in engine/postgres's own tests;
// packages test themselves in memory. `make test` runs all of it.
package testsuite
