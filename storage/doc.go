// Package storage keeps bytes that must not be lost. (Manual to be completed
// with the package.)
package storage
