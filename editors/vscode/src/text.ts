/** Words for people: ages, counts, sizes, and what a status says in one line. */
import { l10n } from 'vscode';
import type { Checkpoint, DatabasePlan, FileChange, RestorePlan, Status, TableChange } from './protocol';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** An age in words, such as "2 hours ago". */
export function ago(created: string, now = Date.now()): string {
	const seconds = Math.max(0, Math.round((now - Date.parse(created)) / 1000));
	if (seconds < MINUTE) {
		return l10n.t('just now');
	}
	const [n, one, many] =
		seconds < HOUR
			? [Math.floor(seconds / MINUTE), l10n.t('1 minute ago'), '{0} minutes ago']
			: seconds < DAY
				? [Math.floor(seconds / HOUR), l10n.t('1 hour ago'), '{0} hours ago']
				: [Math.floor(seconds / DAY), l10n.t('1 day ago'), '{0} days ago'];
	return n === 1 ? one : l10n.t(many, n);
}

export function files(n: number): string {
	return n === 1 ? l10n.t('1 file') : l10n.t('{0} files', n);
}

export function rows(n: number): string {
	return n === 1 ? l10n.t('1 row') : l10n.t('{0} rows', n);
}

/** How many objects of a database are defined otherwise. */
export function definitions(n: number): string {
	return n === 1 ? l10n.t('1 definition') : l10n.t('{0} definitions', n);
}

/** A size with one digit behind the point, in units of 1024. */
export function bytes(n: number): string {
	const units = ['B', 'KB', 'MB', 'GB', 'TB'];
	let unit = 0;
	while (n >= 1024 && unit < units.length - 1) {
		n /= 1024;
		unit++;
	}
	return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/** What differs from the checkpoint: "3 files · 124 rows"; "" when nothing is known to. */
export function changes(s: Status): string {
	const parts = [];
	if (s.file_count > 0) {
		parts.push(files(s.file_count));
	}
	if (s.row_count > 0) {
		parts.push(rows(s.row_count));
	}
	return parts.join(' · ');
}

/** What the status bar says behind its icon. */
export function statusLine(s: Status): string {
	if (!s.tracked) {
		return l10n.t('not tracked');
	}
	if (s.interrupted) {
		return l10n.t('{0} interrupted', s.interrupted.verb);
	}
	if (s.operation) {
		return s.operation.phase ? `${s.operation.verb}: ${s.operation.phase}` : s.operation.verb;
	}
	if (!s.checkpoint) {
		return l10n.t('no checkpoint');
	}
	return [s.checkpoint.name, changes(s)].filter((part) => part).join(' · ');
}

/** How many rows of a table came, changed and went: "+3 ~1 −2". */
export function tableCounts(t: TableChange): string {
	const parts = [];
	if (t.inserted) {
		parts.push(`+${t.inserted}`);
	}
	if (t.updated) {
		parts.push(`~${t.updated}`);
	}
	if (t.deleted) {
		parts.push(`−${t.deleted}`);
	}
	return parts.length > 0 ? parts.join(' ') : (t.change ?? '');
}

/** The same in words, for those who hear it. */
export function tableWords(t: TableChange): string {
	const parts = [];
	if (t.inserted) {
		parts.push(l10n.t('{0} inserted', rows(t.inserted)));
	}
	if (t.updated) {
		parts.push(l10n.t('{0} updated', rows(t.updated)));
	}
	if (t.deleted) {
		parts.push(l10n.t('{0} deleted', rows(t.deleted)));
	}
	return parts.length > 0 ? parts.join(', ') : (t.change ?? '');
}

/** How a user names a checkpoint of any worktree. */
export function reference(c: Checkpoint, worktree: string): string {
	return c.worktree === worktree ? c.name : `${c.worktree}:${c.name}`;
}

/** At most n lines of names; the rest is counted. */
export function some(names: string[], total: number, n: number): string {
	const shown = names.slice(0, n);
	if (total > shown.length) {
		shown.push(l10n.t('and {0} more', total - shown.length));
	}
	return shown.join('\n');
}

/** What happened to a file, in a word: letters are beside it already, of git, which compares with its own commit. */
export function changeWord(change: FileChange['change']): string {
	return { added: l10n.t('added'), modified: l10n.t('modified'), removed: l10n.t('removed'), mode: l10n.t('permissions') }[change];
}

/** Who made a checkpoint. Agents and others have names of their own. */
export function maker(actor: string): string {
	return { lsp: l10n.t('an editor'), cli: l10n.t('the command line') }[actor] ?? actor;
}

/** What the question before a restore says will happen. */
export function planDetail(p: RestorePlan): string {
	const parts: string[] = [];
	const overwritten = p.files.filter((f) => f.change === 'modified' || f.change === 'mode').map((f) => `    ${f.path}`);
	const added = p.files.filter((f) => f.change === 'added').map((f) => `    ${f.path}`);
	const removed = p.files.filter((f) => f.change === 'removed').map((f) => `    ${f.path}`);
	if (overwritten.length > 0) {
		parts.push(l10n.t('Overwritten:') + '\n' + some(overwritten, overwritten.length, 8));
	}
	if (added.length > 0) {
		parts.push(l10n.t('Brought back:') + '\n' + some(added, added.length, 5));
	}
	if (removed.length > 0) {
		parts.push(l10n.t('Removed:') + '\n' + some(removed, removed.length, 8));
	}
	if (p.files.length === 0) {
		parts.push(l10n.t('No file differs.'));
	}
	if (p.database) {
		parts.push(databaseDetail(p.database));
	}
	parts.push(...(p.warnings ?? []));
	parts.push(l10n.t('What is there now is saved first; Undo Last Restore brings it back.'));
	return parts.join('\n\n');
}

function databaseDetail(d: DatabasePlan): string {
	const parts: string[] = [];
	const tables = d.tables.map((t) => `    ${t.table}  ${tableCounts(t)}`.trimEnd());
	if (tables.length > 0) {
		parts.push(l10n.t('The database is replaced. Tables that differ:') + '\n' + some(tables, tables.length, 8));
	} else {
		parts.push(d.rows_known ? l10n.t('The database is replaced; no row differs.') : l10n.t('The database is replaced. Which rows differ is not known: {0}.', d.problems?.join('; ') || l10n.t('its server is stopped')));
	}
	const defined = d.definitions.map((o) => `    ${o.kind} ${o.name}  ${o.change}`);
	if (defined.length > 0) {
		parts.push(l10n.t('What is defined otherwise:') + '\n' + some(defined, defined.length, 8));
	}
	if (d.catalogs && !d.definitions_known) {
		parts.push(l10n.t('Whether tables, views or functions are defined otherwise is not known.'));
	}
	return parts.join('\n\n');
}

/** What a restore would change, in one line: "2 files · 3 rows · 1 definition". */
export function planLine(p: RestorePlan): string {
	const changed = p.written + p.removed + p.modes;
	const parts = [changed > 0 ? files(changed) : l10n.t('no file')];
	const d = p.database;
	if (d?.rows_known) {
		const n = d.tables.reduce((sum, t) => sum + (t.inserted ?? 0) + (t.updated ?? 0) + (t.deleted ?? 0), 0);
		parts.push(n > 0 ? rows(n) : l10n.t('no row'));
	}
	if (d && d.definitions.length > 0) {
		parts.push(definitions(d.definitions.length));
	}
	return parts.join(' · ');
}
