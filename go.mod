module forklift

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.0.12 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/zeebo/blake3 v0.2.4
	golang.org/x/sys v0.50.0
)
