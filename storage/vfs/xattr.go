package vfs

import (
	"slices"
	"strings"
)

// xattrLimit bounds the list of names and a value: Linux allows 64 KiB each.
const xattrLimit = 64 << 10

// sortXattrs sorts by name: kernels list in no particular order.
func sortXattrs(list []Xattr) {
	slices.SortFunc(list, func(a, b Xattr) int { return strings.Compare(a.Name, b.Name) })
}
