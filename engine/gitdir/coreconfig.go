package gitdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// core is what Find needs of a repository's configuration.
type core struct {
	bare     bool
	worktree string // as written; "" when not set
}

// readCore reads core.bare and core.worktree of a git directory's own
// configuration files. Includes are not followed: git writes both settings into
// the file itself, and a pointer that is hidden is one that is not believed.
func readCore(gitDir string) (core, error) {
	var c core
	for _, name := range []string{"config", "config.worktree"} {
		text, err := readFile(filepath.Join(gitDir, name), maxConfigBytes)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		c.parse(text)
	}
	return c, nil
}

// parse reads the two settings from a configuration text, later ones winning.
// The format is that of git-config(1); sections with a subsection, which
// [core] never has, are passed over.
func (c *core) parse(text string) {
	inCore := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, ok := strings.Cut(line[1:], "]")
			inCore = ok && strings.EqualFold(strings.TrimSpace(name), "core")
			line = strings.TrimSpace(rest)
		}
		if !inCore || line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, hasValue := strings.Cut(line, "=")
		value = configValue(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "bare":
			c.bare = !hasValue || isTrue(value)
		case "worktree":
			c.worktree = value
		}
	}
}

// isTrue reads a boolean as git does.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// configValue removes quotes, escapes and comments of a value.
func configValue(raw string) string {
	var out strings.Builder
	quoted, kept := false, 0
	raw = strings.TrimSpace(raw)
	for i := 0; i < len(raw); i++ {
		switch ch := raw[i]; {
		case ch == '"':
			quoted = !quoted
			kept = out.Len()
		case ch == '\\' && i+1 < len(raw):
			i++
			switch raw[i] {
			case 'n':
				out.WriteByte('\n')
			case 't':
				out.WriteByte('\t')
			default:
				out.WriteByte(raw[i])
			}
			kept = out.Len()
		case !quoted && (ch == '#' || ch == ';'):
			return out.String()[:kept]
		default:
			out.WriteByte(ch)
			if quoted || (ch != ' ' && ch != '\t') {
				kept = out.Len()
			}
		}
	}
	return out.String()[:kept]
}
