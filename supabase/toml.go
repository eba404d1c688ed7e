package supabase

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"forklift/storage/fault"

	"github.com/BurntSushi/toml"
)

// portKeys are the keys of config.toml that fix a port which every stack of
// the project would want: the tables, and in each the keys.
var portKeys = map[string][]string{
	"api":          {"port"},
	"db":           {"port", "shadow_port"},
	"db.pooler":    {"port"},
	"studio":       {"port"},
	mailTable:      {"port", "smtp_port", "pop3_port"},
	"analytics":    {"port", "vector_port"},
	"edge_runtime": {"inspector_port"},
}

const (
	mailTable    = "local_smtp"
	oldMailTable = "inbucket" // what version 3 of the CLI refuses
)

// derive makes the configuration that the private stack runs with from the
// user's: without fixed ports but for those in ports, the mail table under its
// new name, the rest byte for byte. name is only for messages.
func derive(name string, text []byte, ports map[string]int) ([]byte, error) {
	var want map[string]any
	if err := toml.Unmarshal(text, &want); err != nil {
		return nil, badConfig(name, err, "Correct the file; `supabase` reads it the same way.")
	}
	withoutPorts(want)
	out := edit(text)
	var got map[string]any
	if err := toml.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, want) {
		return nil, badConfig(name, errors.Join(errors.New("its ports could not be taken out, which every worktree needs for itself"), err),
			"Write the ports as `port = 54321` on lines of their own, or leave them out.")
	}
	return withPorts(out, got, ports), nil
}

func badConfig(name string, err error, hint string) error {
	return &fault.Error{Op: "read Supabase configuration", Path: name, Kind: fault.Usage, Err: err, Hint: hint}
}

// withoutPorts does to the decoded configuration what edit does to its text.
func withoutPorts(config map[string]any) {
	if old, ok := config[oldMailTable]; ok {
		if _, both := config[mailTable]; !both {
			config[mailTable] = old
		}
		delete(config, oldMailTable)
	}
	for table, keys := range portKeys {
		if t := tableAt(config, strings.Split(table, ".")); t != nil {
			for _, key := range keys {
				delete(t, key)
			}
		}
	}
}

func tableAt(config map[string]any, names []string) map[string]any {
	for _, name := range names {
		next, ok := config[name].(map[string]any)
		if !ok {
			return nil
		}
		config = next
	}
	return config
}

var (
	headerLine = regexp.MustCompile(`^\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$`)
	arrayLine  = regexp.MustCompile(`^\s*\[\[`)
	keyLine    = regexp.MustCompile(`^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=`)
)

// edit drops the lines that fix ports and renames the old mail table. It knows
// tables and keys on lines of their own, outside of strings and lists that
// span lines; what else there is stays, and derive sees that it does.
func edit(text []byte) []byte {
	var out bytes.Buffer
	table, drop, hasMail := "", false, bytes.Contains(text, []byte("["+mailTable+"]"))
	var open spans
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		inside := open.inside()
		open.feed(string(line))
		if inside {
			if !drop {
				out.Write(line)
			}
			continue
		}
		plain := strings.TrimRight(string(line), "\r\n")
		switch m := headerLine.FindStringSubmatch(plain); {
		case m != nil:
			table = cleanKey(m[1])
			drop = table == oldMailTable && hasMail
			if table == oldMailTable && !hasMail {
				line = bytes.Replace(line, []byte(oldMailTable), []byte(mailTable), 1)
				table = mailTable
			}
		case arrayLine.MatchString(plain):
			table, drop = "[[]]", false
		default:
			if k := keyLine.FindStringSubmatch(plain); k != nil && fixesPort(table, cleanKey(k[1])) {
				continue
			}
		}
		if !drop {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// cleanKey is a dotted key without spaces and quotes.
func cleanKey(key string) string {
	parts := strings.Split(key, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}

// fixesPort reports a key, dotted or not, of a table that is in portKeys.
func fixesPort(table, key string) bool {
	if table != "" {
		key = table + "." + key
	}
	at := strings.LastIndexByte(key, '.')
	if at < 0 {
		return false
	}
	return slices.Contains(portKeys[key[:at]], key[at+1:])
}

// spans follows what can go on over the end of a line: strings of three quotes,
// and lists and inline tables, which are counted.
type spans struct {
	quote string // `"""` or `'''` while inside of one
	depth int
}

func (s *spans) inside() bool { return s.quote != "" || s.depth > 0 }

// feed reads one line.
func (s *spans) feed(line string) {
	if s.quote == "" && s.depth == 0 && (headerLine.MatchString(strings.TrimRight(line, "\r\n")) || arrayLine.MatchString(line)) {
		return // its brackets are no list's
	}
	for i := 0; i < len(line); {
		rest := line[i:]
		switch {
		case s.quote != "":
			if s.quote == `"""` && rest[0] == '\\' {
				i += 2
				continue
			}
			if strings.HasPrefix(rest, s.quote) {
				i += 3
				s.quote = ""
				continue
			}
			i++
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
			s.quote = rest[:3]
			i += 3
		case rest[0] == '"' || rest[0] == '\'':
			i += shortString(rest)
		case rest[0] == '#':
			return
		default:
			switch rest[0] {
			case '[', '{':
				s.depth++
			case ']', '}':
				s.depth = max(0, s.depth-1)
			}
			i++
		}
	}
}

// shortString is the length of the string that text begins with, quotes
// included; all of it when it does not end.
func shortString(text string) int {
	for i := 1; i < len(text); i++ {
		if text[0] == '"' && text[i] == '\\' {
			i++
			continue
		}
		if text[i] == text[0] {
			return i + 1
		}
	}
	return len(text)
}

// withPorts adds ports, by table, to a configuration without any.
func withPorts(text []byte, config map[string]any, ports map[string]int) []byte {
	tables := make([]string, 0, len(ports))
	for table := range ports {
		tables = append(tables, table)
	}
	slices.Sort(tables)
	for _, table := range tables {
		line := "port = " + strconv.Itoa(ports[table]) + "\n"
		if at := headerEnd(text, table); at >= 0 {
			text = slices.Concat(text[:at], []byte(line), text[at:])
			continue
		}
		if tableAt(config, strings.Split(table, ".")) != nil {
			continue // written in another way: the CLI chooses
		}
		text = slices.Concat(text, []byte(fmt.Sprintf("\n[%s]\n%s", table, line)))
	}
	return text
}

// headerEnd is where the lines of a table begin; -1 for none.
func headerEnd(text []byte, table string) int {
	var open spans
	at := 0
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		inside := open.inside()
		open.feed(string(line))
		at += len(line)
		m := headerLine.FindStringSubmatch(strings.TrimRight(string(line), "\r\n"))
		if !inside && m != nil && cleanKey(m[1]) == table && bytes.HasSuffix(line, []byte("\n")) {
			return at
		}
	}
	return -1
}

// refusal is a setting that the CLI's stacks do not take.
type refusal struct{ key, why string }

// refusals are the settings of a configuration that the CLI's stacks refuse;
// the list follows its documentation, and the CLI has the last word.
func refusals(text []byte) ([]refusal, error) {
	var config map[string]any
	if err := toml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	var list []refusal
	if t := tableAt(config, []string{"api", "tls"}); t != nil && t["enabled"] == true {
		list = append(list, refusal{"api.tls", "local TLS is not supported"})
	}
	if t := tableAt(config, []string{"analytics"}); t != nil {
		if backend, ok := t["backend"].(string); ok && backend != "postgres" {
			list = append(list, refusal{"analytics.backend", "only postgres is supported"})
		}
	}
	if t := tableAt(config, []string{"edge_runtime"}); t != nil && t["deno_version"] == int64(1) {
		list = append(list, refusal{"edge_runtime.deno_version", "only the version that comes with the runtime is supported"})
	}
	if t := tableAt(config, []string{"db"}); t != nil {
		if major, ok := t["major_version"].(int64); ok && major != 15 && major != 17 {
			list = append(list, refusal{"db.major_version", "only 15 and 17 are supported"})
		}
	}
	if t := tableAt(config, []string{"auth", "email", "template"}); t != nil {
		for name, v := range t {
			if one, ok := v.(map[string]any); ok && one["content_path"] != nil {
				list = append(list, refusal{"auth.email.template." + name + ".content_path", "templates from files are not supported"})
			}
		}
	}
	for _, kind := range []string{"vector", "analytics"} {
		if t := tableAt(config, []string{"storage", kind}); t != nil && t["enabled"] == true {
			list = append(list, refusal{"storage." + kind, "such buckets are not supported"})
		}
	}
	slices.SortFunc(list, func(a, b refusal) int { return strings.Compare(a.key, b.key) })
	return list, nil
}

// withoutOwnPorts is a derived configuration without the ports of its branch.
func withoutOwnPorts(text []byte) []byte { return edit(text) }
