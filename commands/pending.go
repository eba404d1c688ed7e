package commands

import "forklift/engine"

// NewEngine gives nothing until package engine has its functions.
func NewEngine(engine.Host) Engine { return nil }
