package supaworld

import (
	"strings"
)

// Variables reads lines of NAME="value", as `supabase status` and `forklift
// env` print them, with or without `export`.
func Variables(text string) map[string]string {
	vars := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		if ok {
			vars[name] = strings.Trim(value, `"'`)
		}
	}
	return vars
}
