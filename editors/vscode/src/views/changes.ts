/** The view Changes Since: files with their diffs, and tables with how many rows changed. */
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
import type { FileChange, Status, TableChange } from '../protocol';
import type { FileRow } from '../target';
import { changeLetters, changes, files, rows, tableCounts, tableWords } from '../text';

interface GroupNode {
	kind: 'files' | 'tables';
	status: Status;
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

type Node = GroupNode | FileNode | TableNode;

export class ChangesView implements TreeDataProvider<Node>, Disposable {
	private readonly emitter = new EventEmitter<void>();
	readonly onDidChangeTreeData = this.emitter.event;
	private readonly view: TreeView<Node>;
	private readonly disposables: Disposable[];
	private seen = '';

	constructor(private readonly app: App) {
		this.view = window.createTreeView<Node>('forklift.changes', { treeDataProvider: this, showCollapseAll: true });
		this.disposables = [this.emitter, this.view, app.worktrees.onDidChange(() => this.update())];
	}

	private update(): void {
		const s = this.app.worktrees.active();
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

	getChildren(node?: Node): Node[] {
		const s = node && 'status' in node ? node.status : this.app.worktrees.active();
		if (!s?.tracked || !s.checkpoint) {
			return [];
		}
		if (!node) {
			const groups: GroupNode[] = [];
			if (s.file_count > 0) {
				groups.push({ kind: 'files', status: s });
			}
			if (s.tables.length > 0) {
				groups.push({ kind: 'tables', status: s });
			}
			return groups;
		}
		if (node.kind === 'files') {
			return s.files.map((f) => ({ kind: 'file', path: f.path, file: fileUri(s, f.path), change: f.change }));
		}
		return node.kind === 'tables' ? s.tables.map((table) => ({ kind: 'table', path: s.worktree.path, table })) : [];
	}

	getTreeItem(node: Node): TreeItem {
		switch (node.kind) {
			case 'file':
				return fileItem(node);
			case 'table':
				return tableItem(node);
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
	const ofFiles = node.kind === 'files';
	const item = new TreeItem(ofFiles ? l10n.t('Files') : l10n.t('Tables'), TreeItemCollapsibleState.Expanded);
	item.id = `${node.kind}:${s.worktree.path}`;
	item.description = ofFiles ? files(s.file_count) : rows(s.row_count);
	item.contextValue = node.kind;
	return item;
}

function fileItem(node: FileNode): TreeItem {
	const item = new TreeItem(node.file as Uri, TreeItemCollapsibleState.None);
	const dir = node.path.slice(0, Math.max(0, node.path.lastIndexOf('/')));
	item.id = `file:${node.file.toString()}`;
	item.iconPath = ThemeIcon.File;
	item.description = [dir, changeLetters[node.change]].filter((t) => t).join(' · ');
	item.tooltip = `${node.path} (${node.change})`;
	item.accessibilityInformation = { label: `${node.path}, ${node.change}` };
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
