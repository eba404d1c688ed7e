package engine

// Secret is text that nobody may read in a log, an error or a result: a
// password, or a URL that may hold one. It prints as "[redacted]", also in
// JSON; Reveal gives the text to who needs it.
type Secret string

// redacted is what a secret looks like.
const redacted = "[redacted]"

// String is "[redacted]", or "" for no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is the same, for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is the same, for JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// Reveal is the text.
func (s Secret) Reveal() string { return string(s) }
