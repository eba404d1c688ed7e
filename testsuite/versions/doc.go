// Package versions tests what meets what: Forklift and the major versions of
// PostgreSQL that it accepts beside 17, a branch and the next minor version of
// its server, and a store that a newer Forklift has written to.
//
// The servers are npm's embedded ones, of pinned versions, unpacked into
// .cache/embedded-postgresql of this repository by the npm client.
package versions
