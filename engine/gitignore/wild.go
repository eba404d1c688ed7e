package gitignore

import "strings"

// result is the outcome of a comparison. The two kinds of giving up keep the
// number of attempts small: when an outer star cannot help either, it is not
// tried.
type result uint8

const (
	match     result = iota
	noMatch          // not here; a star before may try further on
	abortAll         // the text is too short: no star can help
	abortStar        // a slash is in the way: only ** can help
)

// wild compares a whole text with a glob. With pathname set, `*`, `?` and
// classes do not match a slash and `**` has its meaning. The algorithm is that
// of git's wildmatch, which comes from Rich Salz's.
func wild(glob, text string, pathname bool) result {
	p, t := 0, 0
	for ; p < len(glob); p, t = p+1, t+1 {
		ch := glob[p]
		if t == len(text) && ch != '*' {
			return abortAll
		}
		switch ch {
		case '?':
			if pathname && text[t] == '/' {
				return noMatch
			}
		case '*':
			next, done := star(glob, p, text, t, pathname)
			if next < 0 {
				return done
			}
			p, t = next, t+strings.IndexByte(text[t:], '/')
		case '[':
			end, ok := class(glob, p+1, text[t])
			if end < 0 {
				return abortAll
			}
			if !ok || pathname && text[t] == '/' {
				return noMatch
			}
			p = end
		case '\\':
			p++
			if p == len(glob) || glob[p] != text[t] {
				return noMatch
			}
		default:
			if ch != text[t] {
				return noMatch
			}
		}
	}
	if t < len(text) {
		return noMatch
	}
	return match
}

// star handles the star at glob[p] against text[t:]. It gives the final
// result and -1; or, for a single star before a slash, where one element of
// the path is simply passed over, the index of that slash in glob.
func star(glob string, p int, text string, t int, pathname bool) (int, result) {
	first := p
	for p++; p < len(glob) && glob[p] == '*'; p++ {
	}
	rest := glob[p:]
	crosses := !pathname
	if pathname && p-first > 1 && (first == 0 || glob[first-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)) {
		crosses = true
		// foo/**/bar also matches foo/bar.
		if rest != "" && rest[0] == '/' && wild(rest[1:], text[t:], pathname) == match {
			return -1, match
		}
	}
	if rest == "" {
		if !crosses && strings.Contains(text[t:], "/") {
			return -1, abortStar
		}
		return -1, match
	}
	if !crosses && rest[0] == '/' {
		if !strings.Contains(text[t:], "/") {
			return -1, abortAll
		}
		return p, match
	}
	for ; t < len(text); t++ {
		got := wild(rest, text[t:], pathname)
		if got != noMatch {
			if !crosses || got != abortStar {
				return -1, got
			}
		} else if !crosses && text[t] == '/' {
			return -1, abortStar
		}
	}
	return -1, abortAll
}

// class compares ch with the class whose first character after the bracket is
// glob[p]. It gives the index of the closing bracket, -1 without one.
func class(glob string, p int, ch byte) (end int, ok bool) {
	negate := p < len(glob) && (glob[p] == '!' || glob[p] == '^')
	if negate {
		p++
	}
	var prev byte // the low end of a range, 0 for none
	for first := true; first || p < len(glob) && glob[p] != ']'; first = false {
		if p >= len(glob) {
			return -1, false
		}
		c := glob[p]
		switch {
		case c == '\\':
			if p++; p >= len(glob) {
				return -1, false
			}
			c = glob[p]
			ok = ok || ch == c
		case c == '-' && prev != 0 && p+1 < len(glob) && glob[p+1] != ']':
			p++
			if glob[p] == '\\' {
				if p++; p >= len(glob) {
					return -1, false
				}
			}
			ok = ok || prev <= ch && ch <= glob[p]
			c = 0
		case c == '[' && p+1 < len(glob) && glob[p+1] == ':':
			name, size := className(glob[p+2:])
			if size < 0 {
				return -1, false
			}
			if size == 0 { // no ":]": an ordinary bracket
				ok = ok || ch == '['
				break
			}
			in, known := inClass(name, ch)
			if !known {
				return -1, false
			}
			ok = ok || in
			p, c = p+1+size, 0
		default:
			ok = ok || ch == c
		}
		prev = c
		p++
	}
	if p >= len(glob) {
		return -1, false
	}
	return p, ok != negate
}

// className reads the name of a class like [:alpha:] from behind "[:". size is
// the number of bytes up to and including ":]", 0 when the bracket is an
// ordinary one, -1 when nothing closes it.
func className(s string) (name string, size int) {
	i := strings.IndexByte(s, ']')
	if i < 0 {
		return "", -1
	}
	if i == 0 || s[i-1] != ':' {
		return "", 0
	}
	return s[:i-1], i + 1
}

// inClass says whether ch is in a named class of the C locale.
func inClass(name string, ch byte) (in, known bool) {
	lower, upper, digit := 'a' <= ch && ch <= 'z', 'A' <= ch && ch <= 'Z', '0' <= ch && ch <= '9'
	printable := ' ' <= ch && ch <= '~'
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return ch == ' ' || ch == '\t', true
	case "cntrl":
		return ch < ' ' || ch == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return printable && ch != ' ', true
	case "lower":
		return lower, true
	case "print":
		return printable, true
	case "punct":
		return printable && ch != ' ' && !lower && !upper && !digit, true
	case "space":
		return ch == ' ' || '\t' <= ch && ch <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= ch && ch <= 'f' || 'A' <= ch && ch <= 'F', true
	}
	return false, false
}
