/** Where the language client's own ways are not what a user expects. */
import { type Uri, commands } from 'vscode';
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

export function middleware(contentOf: (uri: Uri) => Promise<string>): Middleware {
	return {
		executeCommand: (command, args, next) => {
			const ours = asked[command];
			return ours ? commands.executeCommand(ours, args[0]) : next(command, args);
		},
		provideTextDocumentContent: (uri) => contentOf(uri),
	};
}
