/** Compare With Checkpoint: one file, or the whole worktree. */
import { l10n, window } from 'vscode';
import type { App } from '../app';
import { openDiff, openDiffs } from '../content';
import { pickCheckpoint } from '../pick';
import type { DiffResult, FileInfo } from '../protocol';
import { type Argument, type FileRow, fileOf, isCheckpointRow, worktreeOf } from '../target';
import { reference, rows, some, tableCounts } from '../text';

/** Compares a file with how it was at a checkpoint that the user picks. */
export async function compareFile(app: App, a: Argument): Promise<void> {
	const file = fileOf(a);
	if (!file) {
		throw new Error(l10n.t('Open the file that is to be compared.'));
	}
	const s = await worktreeOf(app, file);
	const info = await app.server.request<FileInfo>('forklift/file', { uri: file.toString() });
	const without = new Set(info.checkpoints.filter((c) => !c.has).map((c) => c.id));
	const c = await pickCheckpoint(app, s, { title: l10n.t('Forklift: Compare {0} With', info.path), only: (c) => !without.has(c.id) });
	await openDiff(file, c.id, c.name);
}

/** Compares all files with a checkpoint in one editor; tables that differ, and what is defined otherwise, are told. */
export async function compareWorktree(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	const c = isCheckpointRow(a)
		? a.checkpoint
		: await pickCheckpoint(app, s, { title: l10n.t('Forklift: Compare Worktree With'), project: true });
	const diff = await app.server.verb<DiffResult>('diff', s.worktree.path, { a: reference(c, s.worktree.name), name_only: true });
	if (diff.files.length > 0) {
		await openDiffs(s, diff.files, c.id, c.name);
	}
	const tables = diff.tables.map((t) => `${t.table} ${tableCounts(t)}`);
	const total = diff.tables.reduce((n, t) => n + (t.inserted ?? 0) + (t.updated ?? 0) + (t.deleted ?? 0), 0);
	const database =
		tables.length > 0
			? l10n.t('Tables that differ: {0}', some(tables, tables.length, 5).split('\n').join(', ')) + (total > 0 ? ` (${rows(total)}).` : '.')
			: diff.rows_known
				? l10n.t('No row differs.')
				: l10n.t('Which rows differ is not known while the server is stopped.');
	const definitions = diff.definitions.map((d) => `${d.kind} ${d.name} ${d.change}`);
	const defined = definitions.length > 0 ? ' ' + l10n.t('Defined otherwise: {0}.', some(definitions, definitions.length, 5).split('\n').join(', ')) : '';
	const same = diff.files.length === 0 ? l10n.t('No file differs from {0}.', c.name) + ' ' : '';
	void window.showInformationMessage(same + database + defined);
}

/** Opens what changed in a file of the view Changes Since. */
export async function openChange(app: App, row: FileRow): Promise<void> {
	const s = await worktreeOf(app, row.file);
	const c = s.source_checkpoint ?? s.checkpoint;
	if (c) {
		await openDiff(row.file, c.id, c.name);
	}
}
