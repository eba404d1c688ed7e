// Package policy holds the rules of the source tree as tests: who may import
// whom, what must be documented, how long things may be, which calls may be
// made where, what committed files may not contain, and which licences may be
// linked. Each rule says its reason when it fails. A package that needs an
// exception gets a line in a table here, with the reason.
package policy
