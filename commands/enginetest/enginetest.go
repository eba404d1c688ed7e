// Package enginetest lets tests outside of commands use its stand-in for
// package engine: an engine that remembers what it was asked and answers with
// fixed results. It is for tests only.
package enginetest

import "forklift/commands/internal/standin"

// Engine answers for package engine, for one worktree and for PostgreSQL on
// the machine. The zero value is ready.
type Engine = standin.Engine

// Now is what the clock of a test tells at first.
var Now = standin.Now
