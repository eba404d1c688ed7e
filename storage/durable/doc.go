// Package durable changes files so that the change survives a power cut.
//
// It is the only place, below it vfs, that renames and syncs. Each function
// says what holds after nil, after an error and after a crash (kill or power
// cut at any moment). The rules behind them:
//
//   - A file is written under another name, synced, and only then given its
//     name; then its directory is synced. Nobody sees half of it.
//   - A sync that failed is final. The kernel may have dropped what it could
//     not write and says nothing the next time, so nothing here tries again;
//     the caller must treat what it wanted to publish as not published.
//   - A function that finds its work done already still syncs: whoever did
//     it may have been killed before its own sync.
//
// Temporary files are named ".tmp-" and 16 hexadecimal digits, in the
// directory of the file. A crash can leave them; [IsTemp] knows them, and
// whoever owns the directory removes them.
//
// Errors are those of package vfs, unchanged, so that errors.Is with
// fs.ErrExist, fs.ErrNotExist and the errnos works.
package durable
