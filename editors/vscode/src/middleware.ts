/** Where the language client's own ways are not what a user expects. */
import { type CompletionItem, CompletionItemKind, type Diagnostic, type Uri, commands } from 'vscode';
import type { Middleware } from 'vscode-languageclient/node';

/**
 * The server's code actions and lenses name commands of the server, which do
 * their work without a question. In this editor they go the way of the
 * palette: unsaved files are settled, and a restore is shown first.
 */
const asked: Record<string, string> = {
	'forklift.server.capture': 'forklift.capture',
	'forklift.server.restore': 'forklift.restore',
	'forklift.server.undo': 'forklift.undo',
	'forklift.server.redo': 'forklift.redo',
	'forklift.server.recover': 'forklift.recover',
	'forklift.server.trust': 'forklift.trust',
	'forklift.server.list': 'forklift.checkpoints.focus',
};

/**
 * What the JSON schema of .forklift.json says in this editor: the server's own
 * words for it would stand there twice. The server's quick fixes stay: they go
 * by the place in the text.
 */
const saidBySchema = new Set<unknown>(['syntax', 'unknown-key', 'duplicate', 'missing-key', 'type']);

const isConfiguration = (uri: Uri): boolean => uri.path.endsWith('/.forklift.json');

const codeOf = (d: Diagnostic): unknown => (typeof d.code === 'object' ? d.code.value : d.code);

export function middleware(contentOf: (uri: Uri) => Promise<string>): Middleware {
	return {
		executeCommand: (command, args, next) => {
			const ours = asked[command];
			return ours ? commands.executeCommand(ours, args[0]) : next(command, args);
		},
		handleDiagnostics: (uri, diagnostics, next) =>
			next(uri, isConfiguration(uri) ? diagnostics.filter((d) => !saidBySchema.has(codeOf(d))) : diagnostics),
		provideHover: (document, position, token, next) => (isConfiguration(document.uri) ? undefined : next(document, position, token)),
		provideCompletionItem: async (document, position, context, token, next) => {
			const found = await next(document, position, context, token);
			const items: CompletionItem[] = Array.isArray(found) ? found : (found?.items ?? []);
			// The schema knows keys and values, the server also paths.
			return items.filter((i) => i.kind === CompletionItemKind.File || i.kind === CompletionItemKind.Folder);
		},
		provideTextDocumentContent: (uri) => contentOf(uri),
	};
}
