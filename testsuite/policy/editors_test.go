package policy

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// vscode is the directory of the extension for VS Code.
const vscode = "editors/vscode"

func TestLockFilesAreWhole(t *testing.T) {
	for _, name := range files() {
		if path.Base(name) != "package-lock.json" {
			continue
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity string }
		}
		if err := json.Unmarshal(readText(t, name), &lock); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for pkg, p := range lock.Packages {
			if pkg != "" && (p.Version == "" || !strings.HasPrefix(p.Integrity, "sha512-")) {
				t.Errorf("%s: %s is not held to a version and a hash", name, pkg)
			}
		}
	}
}

func TestEditorFilesAreShort(t *testing.T) {
	for _, name := range files() {
		if ext := path.Ext(name); under(name, "editors") && (ext == ".ts" || ext == ".lua" || ext == ".mjs") {
			if n := strings.Count(string(readText(t, name)), "\n"); n > maxFileLines {
				t.Errorf("%s: %d lines, at most %d", name, n, maxFileLines)
			}
		}
	}
}

// message is a reference from package.json to package.nls.json.
var message = regexp.MustCompile(`"%([\w.]+)%"`)

func TestExtensionTellsWhatItContributes(t *testing.T) {
	manifest, readme := readText(t, vscode+"/package.json"), string(readText(t, vscode+"/README.md"))
	var texts map[string]string
	if err := json.Unmarshal(readText(t, vscode+"/package.nls.json"), &texts); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range message.FindAllSubmatch(manifest, -1) {
		used[string(m[1])] = true
		if texts[string(m[1])] == "" {
			t.Errorf("%s: there is no text %s", vscode, m[1])
		}
	}
	for key := range texts {
		if !used[key] {
			t.Errorf("%s: nothing uses the text %s", vscode, key)
		}
	}
	var p struct {
		Contributes struct {
			Commands      []struct{ Command, Category, Title string }
			Configuration struct{ Properties map[string]json.RawMessage }
			Menus         map[string][]struct{ Command, When string }
		}
	}
	if err := json.Unmarshal(manifest, &p); err != nil {
		t.Fatal(err)
	}
	hidden := map[string]bool{}
	for _, m := range p.Contributes.Menus["commandPalette"] {
		hidden[m.Command] = m.When == "false"
	}
	for _, c := range p.Contributes.Commands {
		title := texts[strings.Trim(c.Title, "%")]
		if c.Category != "Forklift" {
			t.Errorf("%s: the category is %q", c.Command, c.Category)
		}
		if !hidden[c.Command] && !strings.Contains(strings.Join(strings.Fields(readme), " "), title) {
			t.Errorf("%s: the README does not name %q", c.Command, title)
		}
	}
	for name := range p.Contributes.Configuration.Properties {
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("the README does not name the setting %s", name)
		}
	}
}

func TestExtensionHasTheLicence(t *testing.T) {
	ours, err := os.ReadFile(filepath.Join(top(), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	if string(readText(t, vscode+"/LICENSE")) != string(ours) {
		t.Errorf("%s/LICENSE is another one than LICENSE", vscode)
	}
}
