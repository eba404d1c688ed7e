// Package harness is what the tests of the whole program share: it builds the
// binary once, finds PostgreSQL, makes short-named directories that no
// unix socket is too long for, describes trees and databases so that they can
// be compared exactly, and finds processes that were left behind.
//
// Nothing here calls the product's packages: the tests see Forklift as a user
// does, through its command line.
package harness
