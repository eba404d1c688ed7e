// Package daemon tests the editors' daemon as a user meets it: fronts and
// daemons are processes of the built program, ended and killed at any moment.
package daemon
