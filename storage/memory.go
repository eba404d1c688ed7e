package storage

// Memory is what a scan remembers of a tree's files, so that the next scan
// need not open those that have not been touched. (Built with the scan.)
type Memory struct{}
