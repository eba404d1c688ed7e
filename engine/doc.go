// Package engine is what it means to capture and restore a pair. (Manual to be completed with the package.)
package engine
