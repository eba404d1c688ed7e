package lsp

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"
)

// FilePath is the absolute, clean path of a file: URI. Anything else is an
// error that wraps ErrParams: an untitled buffer or a file of another machine
// must not become a path here.
func FilePath(text string) (string, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not a URI", ErrParams, text)
	}
	path := parsed.Path
	if !strings.EqualFold(parsed.Scheme, "file") || (parsed.Host != "" && parsed.Host != "localhost") || parsed.Opaque != "" {
		return "", fmt.Errorf("%w: %q is not the URI of a file here", ErrParams, text)
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: %q has no absolute path", ErrParams, text)
	}
	return filepath.Clean(path), nil
}

// FileURI is the URI of an absolute path.
func FileURI(path string) uri.URI {
	if !filepath.IsAbs(path) {
		panic("lsp: the URI of a relative path: " + path) // it would be made absolute in silence
	}
	return uri.File(path)
}
