/**
 * What a command is about. Commands are called from the palette (with
 * nothing), from a view (with its row), from the explorer and from editors
 * (with a file), and by the server's code actions (with a request).
 */
import { CancellationError, Uri, commands, l10n, window } from 'vscode';
import type { App } from './app';
import type { Checkpoint, Status } from './protocol';

/** A row of the view Checkpoints, as the commands see it. */
export interface CheckpointRow {
	checkpoint: Checkpoint;
	/** The top of the worktree that it is looked at from. */
	path: string;
}

/** A row of the view Changes Since that is a file. */
export interface FileRow {
	file: Uri;
	path: string;
}

/** The request of a code action of the server. */
export interface ServerRequest {
	worktree: string;
	ref?: string;
	paths?: string[];
	note?: string;
}

export type Argument = CheckpointRow | FileRow | ServerRequest | Uri | undefined;

export function isCheckpointRow(a: unknown): a is CheckpointRow {
	return typeof a === 'object' && a !== null && 'checkpoint' in a && 'path' in a;
}

export function isServerRequest(a: unknown): a is ServerRequest {
	return typeof a === 'object' && a !== null && 'worktree' in a && typeof a.worktree === 'string';
}

/** The file that a command is about: of its argument, else of the active editor. */
export function fileOf(a: Argument): Uri | undefined {
	if (a instanceof Uri) {
		return a;
	}
	if (a && 'file' in a) {
		return a.file;
	}
	const uri = window.activeTextEditor?.document.uri;
	return uri?.scheme === 'file' ? uri : undefined;
}

/** The worktree that a command is about. Without one the user is told how to get one. */
export async function worktreeOf(app: App, a: Argument): Promise<Status> {
	const given =
		a instanceof Uri
			? app.worktrees.of(a)
			: isServerRequest(a)
				? app.worktrees.of(Uri.parse(a.worktree))
				: isCheckpointRow(a)
					? app.worktrees.byPath(a.path)
					: a && 'file' in a
						? app.worktrees.of(a.file)
						: undefined;
	const s = given ?? (await chooseWorktree(app));
	if (!s.tracked) {
		await offerSetup(s);
		throw new CancellationError();
	}
	return s;
}

/** The worktree of the active editor; of several without such an editor the user picks. */
async function chooseWorktree(app: App): Promise<Status> {
	if (app.server.phase !== 'running') {
		throw new Error(app.server.reason || l10n.t('Forklift does not run.'));
	}
	const tracked = app.worktrees.tracked();
	const here = app.worktrees.of(window.activeTextEditor?.document.uri);
	if (here?.tracked) {
		return here;
	}
	if (tracked.length > 1) {
		const items = tracked.map((s) => ({ label: s.worktree.name, description: s.worktree.path, status: s }));
		const chosen = await window.showQuickPick(items, { title: l10n.t('Forklift: Worktree') });
		if (!chosen) {
			throw new CancellationError();
		}
		return chosen.status;
	}
	const s = app.worktrees.active();
	if (!s) {
		throw new Error(l10n.t('Forklift has not looked at this folder yet; try again in a moment.'));
	}
	return s;
}

async function offerSetup(s: Status): Promise<void> {
	const setUp = l10n.t('Set Up Worktree');
	const chosen = await window.showInformationMessage(s.problems?.[0] ?? l10n.t('This folder is not tracked.'), setUp);
	if (chosen === setUp) {
		await commands.executeCommand('forklift.setUp');
	}
}
