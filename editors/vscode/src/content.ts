/**
 * Files as they were at a checkpoint, as read-only documents of the scheme
 * forklift, and the diffs with them. The language client provides the text of
 * the documents; here it only learns that a file which a checkpoint does not
 * have is an empty side of a diff.
 */
import { type TextDocumentShowOptions, Uri, commands, l10n } from 'vscode';
import { failureOf } from './failure';
import type { FileChange, Status } from './protocol';
import type { Server } from './server';

export const SCHEME = 'forklift';

/** The document of a file at a checkpoint; id is the checkpoint's, which never changes its meaning. */
export function checkpointUri(file: Uri, id: string): Uri {
	return Uri.from({ scheme: SCHEME, path: file.path, query: `checkpoint=${id}` });
}

/** The text of such a document. */
export async function contentOf(server: Server, uri: Uri): Promise<string> {
	try {
		const result = await server.request<{ text: string }>('forklift/content', { uri: uri.toString() });
		return result.text;
	} catch (e) {
		const f = failureOf(e);
		if (f.kind === 'not-found') {
			return '';
		}
		// As the text: an editor that is empty would lie.
		return `${f.message}\n${f.hint ?? ''}\n`;
	}
}

/** The URI of a file that the server names by its path in the worktree. */
export function fileUri(s: Status, path: string): Uri {
	return Uri.joinPath(Uri.file(s.worktree.path), path);
}

/** A path that has no name in UTF-8 is quoted, and cannot be opened. */
export function canOpen(path: string): boolean {
	return !path.startsWith('"') && !path.endsWith('/');
}

/** Opens what changed in a file since a checkpoint. */
export async function openDiff(file: Uri, id: string, name: string, options: TextDocumentShowOptions = {}): Promise<void> {
	const base = file.path.slice(file.path.lastIndexOf('/') + 1);
	await commands.executeCommand('vscode.diff', checkpointUri(file, id), file, l10n.t('{0} ({1} ↔ now)', base, name), options);
}

/** Opens everything that changed since a checkpoint in one editor. */
export async function openDiffs(s: Status, changed: FileChange[], id: string, name: string): Promise<void> {
	const list = changed
		.filter((f) => canOpen(f.path))
		.map((f) => {
			const file = fileUri(s, f.path);
			return [file, f.change === 'added' ? undefined : checkpointUri(file, id), f.change === 'removed' ? undefined : file];
		});
	await commands.executeCommand('vscode.changes', l10n.t('Changes since {0}', name), list);
}
