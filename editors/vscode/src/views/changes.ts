/**
 * The view Changes Since: files with their diffs, tables with how many rows
 * changed, and what is defined otherwise: columns, views, functions. A status
 * has the files and the rows. Definitions take longer to compare: they are
 * asked for while the view is looked at, and again when the database changed.
 */
import {
	Disposable,
	EventEmitter,
	ThemeIcon,
	TreeItem,
	TreeItemCollapsibleState,
	type TreeDataProvider,
	type TreeView,
	type Uri,
	l10n,
	window,
} from 'vscode';
import type { App } from '../app';
import { canOpen, fileUri } from '../content';
import { failureOf } from '../failure';
import type { DefinitionChange, DiffResult, FileChange, Status, TableChange } from '../protocol';
import type { FileRow } from '../target';
import { changeWord, changes, definitions, files, reference, rows, tableCounts, tableWords } from '../text';

interface GroupNode {
	kind: 'files' | 'tables' | 'definitions';
	status: Status;
	/** How much of it there is: in short behind the label, and in words for those who hear it. */
	count: string;
	words: string;
}

interface FileNode extends FileRow {
	kind: 'file';
	change: FileChange['change'];
}

interface TableNode {
	kind: 'table';
	path: string;
	table: TableChange;
}

interface DefinitionNode {
	kind: 'definition';
	path: string;
	definition: DefinitionChange;
}

type Node = GroupNode | FileNode | TableNode | DefinitionNode;

export class ChangesView implements TreeDataProvider<Node>, Disposable {
	private readonly emitter = new EventEmitter<void>();
	readonly onDidChangeTreeData = this.emitter.event;
	private readonly view: TreeView<Node>;
	private readonly disposables: Disposable[];
	private seen = '';
	private definitions: { path: string; list: DefinitionChange[] } = { path: '', list: [] };
	private asked = ''; // what the definitions are of
	private asking: Promise<void> | undefined;

	constructor(private readonly app: App) {
		this.view = window.createTreeView<Node>('forklift.changes', { treeDataProvider: this, showCollapseAll: true });
		this.disposables = [
			this.emitter,
			this.view,
			app.worktrees.onDidChange(() => this.update()),
			this.view.onDidChangeVisibility((e) => e.visible && this.refresh()),
		];
	}

	/** Looks again whatever was seen. */
	refresh(): void {
		this.asked = '';
		this.update();
	}

	private update(): void {
		const s = this.app.worktrees.active();
		this.look(s);
		const now = s ? JSON.stringify([s.worktree.path, s.checkpoint?.id, s.files, s.tables, s.file_count]) : '';
		if (now === this.seen) {
			return;
		}
		this.seen = now;
		this.emitter.fire();
		this.view.description = s?.tracked && s.checkpoint ? s.checkpoint.name : '';
		const n = s?.tracked ? s.file_count + s.tables.length : 0;
		this.view.badge = s && n > 0 ? { value: n, tooltip: l10n.t('{0} since {1}', changes(s), s.checkpoint?.name ?? '') } : undefined;
	}

	/** Compares the definitions, one question at a time, unless that was done for the database as it is now. */
	private look(s: Status | undefined): void {
		if (s?.operation) {
			this.asked = ''; // a restore changes definitions without any row
		}
		if (!this.view.visible || this.asking || s?.operation || s?.interrupted) {
			return;
		}
		const now = s?.tracked && s.checkpoint ? JSON.stringify([s.worktree.path, s.checkpoint.id, s.tables, s.server.state]) : '';
		if (now === this.asked) {
			return;
		}
		this.asked = now;
		this.asking = this.compare(s).then((list) => {
			this.asking = undefined;
			const found = { path: s?.worktree.path ?? '', list };
			if (JSON.stringify(found) !== JSON.stringify(this.definitions)) {
				this.definitions = found;
				this.emitter.fire();
			}
			this.look(this.app.worktrees.active()); // what came meanwhile
		});
	}

	/** What was found to be defined otherwise in a worktree. */
	private defined(s: Status): DefinitionChange[] {
		return this.definitions.path === s.worktree.path ? this.definitions.list : [];
	}

	private async compare(s: Status | undefined): Promise<DefinitionChange[]> {
		if (!s?.tracked || !s.checkpoint) {
			return [];
		}
		try {
			const a = reference(s.checkpoint, s.worktree.name);
			return (await this.app.server.verb<DiffResult>('diff', s.worktree.path, { a, name_only: true })).definitions;
		} catch (e) {
			this.app.log.debug(`compare the definitions of ${s.worktree.path}: ${failureOf(e).message}`);
			return []; // files and rows stand without them
		}
	}

	getChildren(node?: Node): Node[] {
		const s = node && 'status' in node ? node.status : this.app.worktrees.active();
		if (!s?.tracked || !s.checkpoint) {
			return [];
		}
		if (!node) {
			const groups: GroupNode[] = [];
			if (s.file_count > 0) {
				groups.push({ kind: 'files', status: s, count: String(s.file_count), words: files(s.file_count) });
			}
			if (s.tables.length > 0) {
				groups.push({ kind: 'tables', status: s, count: rows(s.row_count), words: rows(s.row_count) });
			}
			const n = this.defined(s).length;
			if (n > 0) {
				groups.push({ kind: 'definitions', status: s, count: String(n), words: definitions(n) });
			}
			return groups;
		}
		if (node.kind === 'files') {
			return s.files.map((f) => ({ kind: 'file', path: f.path, file: fileUri(s, f.path), change: f.change }));
		}
		if (node.kind === 'definitions') {
			return this.defined(s).map((definition) => ({ kind: 'definition', path: s.worktree.path, definition }));
		}
		return node.kind === 'tables' ? s.tables.map((table) => ({ kind: 'table', path: s.worktree.path, table })) : [];
	}

	getTreeItem(node: Node): TreeItem {
		switch (node.kind) {
			case 'file':
				return fileItem(node);
			case 'table':
				return tableItem(node);
			case 'definition':
				return definitionItem(node);
			default:
				return groupItem(node);
		}
	}

	dispose(): void {
		Disposable.from(...this.disposables).dispose();
	}
}

function groupItem(node: GroupNode): TreeItem {
	const s = node.status;
	const label = { files: l10n.t('Files'), tables: l10n.t('Tables'), definitions: l10n.t('Definitions') }[node.kind];
	const item = new TreeItem(label, TreeItemCollapsibleState.Expanded);
	item.id = `${node.kind}:${s.worktree.path}`;
	item.description = node.count;
	item.contextValue = node.kind;
	item.accessibilityInformation = { label: l10n.t('{0} that differ from {1}: {2}', label, s.checkpoint?.name ?? '', node.words) };
	return item;
}

function fileItem(node: FileNode): TreeItem {
	const item = new TreeItem(node.file as Uri, TreeItemCollapsibleState.None);
	const dir = node.path.slice(0, Math.max(0, node.path.lastIndexOf('/')));
	item.id = `file:${node.file.toString()}`;
	item.iconPath = ThemeIcon.File;
	const word = changeWord(node.change);
	item.description = [dir, word].filter((t) => t).join(' · ');
	item.tooltip = `${node.path} (${word})`;
	item.accessibilityInformation = { label: `${node.path}, ${word}` };
	if (canOpen(node.path)) {
		item.contextValue = 'file';
		item.command = { command: 'forklift.openChange', title: l10n.t('Open Changes'), arguments: [node] };
	}
	return item;
}

function tableItem(node: TableNode): TreeItem {
	const t = node.table;
	const item = new TreeItem(t.table, TreeItemCollapsibleState.None);
	item.id = `table:${node.path}:${t.database}:${t.table}`;
	item.iconPath = new ThemeIcon('table');
	item.description = tableCounts(t);
	item.tooltip = `${t.table}: ${tableWords(t)}`;
	item.contextValue = 'table';
	item.accessibilityInformation = { label: l10n.t('Table {0}: {1}', t.table, tableWords(t)) };
	return item;
}

/** The icons of the kinds of what is defined; others have that of a misc symbol. */
const definitionIcons: Record<string, string> = { table: 'table', view: 'eye', index: 'list-ordered', function: 'symbol-function', trigger: 'zap', type: 'symbol-class' };

function definitionItem(node: DefinitionNode): TreeItem {
	const d = node.definition;
	const item = new TreeItem(d.name, TreeItemCollapsibleState.None);
	item.id = `definition:${node.path}:${d.database}:${d.kind}:${d.name}`;
	item.iconPath = new ThemeIcon(definitionIcons[d.kind] ?? 'symbol-misc');
	item.description = `${d.kind} · ${d.change}`;
	item.tooltip = `${d.kind} ${d.name}: ${d.change}`;
	item.contextValue = 'definition';
	item.accessibilityInformation = { label: l10n.t('{0} {1}: {2}', d.kind, d.name, d.change) };
	return item;
}
