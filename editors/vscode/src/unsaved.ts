/**
 * Captures and restores work on what is on the disk. So the unsaved files of
 * the worktree are a question first, and after a restore the editors that
 * gave their changes up are brought in line with the disk.
 */
import { CancellationError, type TextDocument, Uri, commands, l10n, window, workspace } from 'vscode';
import { some } from './text';
import type { Status } from './protocol';
import { pathIn } from './worktrees';

/** What was decided about unsaved files. */
export interface Decision {
	/** They are still unsaved, and the verb is to go on without them. */
	onDisk: boolean;
	/** Editors whose changes are given up once it is done. */
	discard: TextDocument[];
}

interface Unsaved {
	name: string;
	save(): Thenable<boolean>;
	text?: TextDocument;
}

/** Unsaved files of a worktree, notebooks included. */
function unsavedOf(s: Status): Unsaved[] {
	const list: Unsaved[] = [];
	for (const d of workspace.textDocuments) {
		const path = d.isDirty && d.uri.scheme === 'file' ? pathIn(s, d.uri) : undefined;
		if (path !== undefined) {
			list.push({ name: path, save: () => d.save(), text: d });
		}
	}
	for (const n of workspace.notebookDocuments) {
		const path = n.isDirty && n.uri.scheme === 'file' ? pathIn(s, n.uri) : undefined;
		if (path !== undefined) {
			list.push({ name: path, save: () => n.save() });
		}
	}
	return list;
}

/**
 * Asks what to do about unsaved files, and does it. Before a capture they can
 * be saved or left out; before a restore they can be saved (then undo brings
 * them back) or given up. A user who does not decide cancels the verb.
 */
export async function settleUnsaved(s: Status, verb: 'capture' | 'restore'): Promise<Decision> {
	const unsaved = unsavedOf(s);
	if (unsaved.length === 0) {
		return { onDisk: false, discard: [] };
	}
	const save = verb === 'capture' ? l10n.t('Save All and Capture') : l10n.t('Save All and Restore');
	const without = verb === 'capture' ? l10n.t('Capture What Is on Disk') : l10n.t('Discard and Restore');
	let chosen: string | undefined = save;
	if (workspace.getConfiguration('forklift').get('unsavedFiles') !== 'save') {
		const names = unsaved.map((u) => u.name);
		const title = names.length === 1 ? l10n.t('{0} has unsaved changes.', names[0] ?? '') : l10n.t('{0} files have unsaved changes.', names.length);
		const detail = verb === 'capture' ? l10n.t('A checkpoint holds what is on the disk.') : l10n.t('A restore replaces what is on the disk.');
		chosen = await window.showWarningMessage(title, { modal: true, detail: `${some(names, names.length, 10)}\n\n${detail}` }, save, without);
	}
	if (chosen === undefined) {
		throw new CancellationError();
	}
	if (chosen === without) {
		return { onDisk: true, discard: verb === 'restore' ? unsaved.flatMap((u) => u.text ?? []) : [] };
	}
	for (const u of unsaved) {
		if (!(await u.save())) {
			throw new Error(l10n.t('{0} was not saved, so nothing was done.', u.name));
		}
	}
	return { onDisk: false, discard: [] };
}

/** Lets editors give up their changes and show what is on the disk. */
export async function discardChanges(documents: TextDocument[]): Promise<void> {
	const before = window.activeTextEditor;
	for (const d of documents.filter((d) => d.isDirty)) {
		await window.showTextDocument(d, { preserveFocus: false, preview: false });
		await commands.executeCommand('workbench.action.files.revert');
	}
	if (before && documents.length > 0) {
		await window.showTextDocument(before.document, before.viewColumn);
	}
}

/** How long the editor has to notice by itself that a file was replaced. */
const RELOAD_AFTER = 1500;

/**
 * Brings clean editors of restored files in line with the disk where the
 * editor's own file watching did not, as in folders that it is told not to
 * watch. Those that were reloaded keep their place by themselves.
 */
export async function reloadStale(uris: string[]): Promise<void> {
	const touched = new Set(uris.map((u) => Uri.parse(u).fsPath));
	const shown = window.visibleTextEditors.filter((e) => e.document.uri.scheme === 'file' && touched.has(e.document.uri.fsPath));
	if (shown.length === 0) {
		return;
	}
	await new Promise((resolve) => setTimeout(resolve, RELOAD_AFTER));
	for (const e of shown) {
		if (e.document.isDirty || e.document.isClosed || !(await isStale(e.document))) {
			continue;
		}
		const selection = e.selection;
		const editor = await window.showTextDocument(e.document, { preview: false, ...(e.viewColumn ? { viewColumn: e.viewColumn } : {}) });
		await commands.executeCommand('workbench.action.files.revert');
		editor.selection = selection;
	}
}

async function isStale(d: TextDocument): Promise<boolean> {
	try {
		const disk = new TextDecoder().decode(await workspace.fs.readFile(d.uri));
		return even(disk) !== even(d.getText());
	} catch {
		return false; // it was removed, which the editor's tab says
	}
}

function even(text: string): string {
	return text.replace(/\r\n/g, '\n');
}
