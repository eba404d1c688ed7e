package session

import (
	"encoding/json"
	"strings"

	"forklift/commands"
	"forklift/storage/fault"

	"go.lsp.dev/protocol"
)

// contentScheme is the scheme of the URIs of files in checkpoints.
const contentScheme = "forklift"

// commandPrefix begins every command that this server executes. Editors give
// the commands that people see other names, because a client registers these.
const commandPrefix = "forklift.server."

// withTerminal are the verbs that need the terminal of the command line.
var withTerminal = map[string]bool{"run": true, "db shell": true}

// commandName is the command of a verb.
func commandName(v *commands.Verb) string {
	return commandPrefix + strings.ReplaceAll(v.Name, " ", "_")
}

// commandVerb is the verb of a command; nil when there is none.
func commandVerb(command string) *commands.Verb {
	for _, v := range commands.Verbs {
		if commandName(v) == command && !withTerminal[v.Name] {
			return v
		}
	}
	return nil
}

// commandNames are all commands, in the order of the verbs.
func commandNames() []string {
	var list []string
	for _, v := range commands.Verbs {
		if !withTerminal[v.Name] {
			list = append(list, commandName(v))
		}
	}
	return list
}

// capabilities are what initialize answers.
func capabilities() protocol.ServerCapabilities {
	yes := true
	change := protocol.TextDocumentSyncKindIncremental
	return protocol.ServerCapabilities{
		TextDocumentSync: &protocol.TextDocumentSyncOptions{
			OpenClose: &yes, Change: &change, Save: &protocol.SaveOptions{},
		},
		ExecuteCommandProvider: protocol.ExecuteCommandOptions{
			WorkDoneProgressOptions: protocol.WorkDoneProgressOptions{WorkDoneProgress: &yes}, Commands: commandNames(),
		},
		CodeActionProvider: &protocol.CodeActionOptions{
			CodeActionKinds: []protocol.CodeActionKind{kindCapture, kindRestore, kindUndo, kindFile, kindFix},
		},
		CodeLensProvider:   &protocol.CodeLensOptions{},
		HoverProvider:      protocol.Boolean(true),
		CompletionProvider: &protocol.CompletionOptions{TriggerCharacters: []string{`"`, "/"}},
		Workspace: &protocol.WorkspaceOptions{
			TextDocumentContent: &protocol.TextDocumentContentOptions{Schemes: []string{contentScheme}},
			WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{
				Supported: &yes, ChangeNotifications: protocol.Boolean(true),
			},
		},
	}
}

// clientOf reads what matters of initialize.
func clientOf(p *protocol.InitializeParams) client {
	c := client{name: p.ClientInfo.Name}
	is := func(b *bool) bool { return b != nil && *b }
	if w := p.Capabilities.Window; w != nil {
		c.createProgress = is(w.WorkDoneProgress)
	}
	if w := p.Capabilities.Workspace; w != nil {
		c.refreshLenses = w.CodeLens != nil && is(w.CodeLens.RefreshSupport)
		c.documentContent = w.TextDocumentContent != nil
	}
	return c
}

// foldersOf are the URIs of the folders that initialize names: the workspace
// folders, else the root.
func foldersOf(p *protocol.InitializeParams) []string {
	var list []string
	if folders, ok := p.WorkspaceFolders.Get(); ok && len(folders) > 0 {
		for _, f := range folders {
			list = append(list, f.URI.String())
		}
		return list
	}
	if p.RootURI != nil && p.RootURI.String() != "" {
		return []string{p.RootURI.String()}
	}
	return nil
}

// rpcCode is the code of an error's kind.
func rpcCode(err error) int { return fault.KindOf(err).RPCCode() }

// raw encodes a value of ours that cannot fail to be encoded.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("session: encode: " + err.Error())
	}
	return data
}
