// Package configls is what an editor gets while .forklift.json is edited. It
// knows texts and positions, and nothing of sessions: whoever has the text of
// an open file asks [Diagnose], and sends what it tells to the editor.
package configls

import "forklift/engine/config"

// Diagnose tells what is wrong with the text of a .forklift.json: nil for
// nothing. name is the file's path, for messages.
func Diagnose(name string, text []byte) error {
	_, err := config.Parse(name, text)
	return err
}
