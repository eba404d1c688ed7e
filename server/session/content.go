package session

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"forklift/commands"
	"forklift/server/lsp"
	"forklift/storage/fault"
)

// contentURI is the URI of a file at a checkpoint; path is absolute.
func contentURI(path, checkpoint string) string {
	return (&url.URL{Scheme: contentScheme, Path: path, OmitHost: true, RawQuery: "checkpoint=" + url.QueryEscape(checkpoint)}).String()
}

// parseContentURI is contentURI the other way round. Editors percent-encode
// the query as they like, so it is decoded as a whole.
func parseContentURI(text string) (path, checkpoint string, err error) {
	bad := func(what string) (string, string, error) {
		return "", "", &fault.Error{Op: "read URI", Path: text, Kind: fault.Usage, Err: errors.New(what),
			Hint: "It has the form " + contentScheme + ":/path/of/the/file?checkpoint=NAME."}
	}
	u, err := url.Parse(text)
	if err != nil {
		return bad("not a URI")
	}
	if u.Scheme != contentScheme || u.Host != "" || u.Opaque != "" {
		return bad("not a URI of a file in a checkpoint")
	}
	if !filepath.IsAbs(u.Path) || strings.ContainsRune(u.Path, 0) {
		return bad("it has no absolute path")
	}
	query, err := url.PathUnescape(u.RawQuery)
	if err != nil {
		return bad("its query cannot be decoded")
	}
	checkpoint, ok := strings.CutPrefix(query, "checkpoint=")
	if !ok || checkpoint == "" {
		return bad("it names no checkpoint")
	}
	return filepath.Clean(u.Path), checkpoint, nil
}

// content answers workspace/textDocumentContent and forklift/content: a file
// as it was at a checkpoint.
func (s *session) content(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	path, checkpoint, err := parseContentURI(p.URI)
	if err != nil {
		return nil, failure(err)
	}
	t := s.treeOf(path)
	if t == nil {
		return nil, failure(&fault.Error{Op: "read file", Path: path, Kind: fault.NotFound, Err: errors.New("it is in no worktree of this session")})
	}
	rel, err := filepath.Rel(t.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		// Its folder is reached by a link.
		return nil, failure(&fault.Error{Op: "read file", Path: path, Kind: fault.NotFound, Err: errors.New("its path does not begin with that of the worktree " + t.root)})
	}
	var data []byte
	err = s.inTree(ctx, t, func(w commands.Worktree) error {
		data, err = w.FileAt(ctx, checkpoint, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return nil, failure(err)
	}
	if !utf8.Valid(data) {
		return nil, failure(&fault.Error{Op: "read file", Path: path, Kind: fault.Unsupported, Err: errors.New("it is not text in UTF-8"),
			Hint: "The command line writes it: see forklift help cat."})
	}
	return map[string]string{"text": string(data)}, nil
}

// inTree runs f on a tree's worktree with the session's environment.
func (s *session) inTree(ctx context.Context, t *tree, f func(commands.Worktree) error) error {
	env, err := s.envAt(t.root)
	if err != nil {
		return err
	}
	return inWorktree(ctx, env, t.root, f)
}

// inWorktree runs f on the worktree at dir.
func inWorktree(ctx context.Context, env commands.Env, dir string, f func(commands.Worktree) error) error {
	w, err := env.Engine.Open(ctx, dir)
	if err != nil {
		return err
	}
	err = f(w)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}
