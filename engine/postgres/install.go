package postgres

import "path/filepath"

// embeddedVersion is the pinned version of the npm package.
const embeddedVersion = "17.10.0-beta.17"

func embeddedBin(cacheDir string) string {
	return filepath.Join(cacheDir, "postgres", embeddedVersion, "native", "bin")
}
