/**
 * The view Checkpoints: those of this worktree, newest first, and below them
 * the project's other worktrees. Rows say age, note and who made them; their
 * tooltips, which are made when they are looked at, where they came from.
 */
import {
	type AccessibilityInformation,
	Disposable,
	EventEmitter,
	MarkdownString,
	ThemeColor,
	ThemeIcon,
	TreeItem,
	TreeItemCollapsibleState,
	type TreeDataProvider,
	type TreeView,
	l10n,
	window,
	workspace,
} from 'vscode';
import type { App } from '../app';
import { listCheckpoints } from '../pick';
import type { Checkpoint, Status } from '../protocol';
import type { CheckpointRow } from '../target';
import { ago, bytes, files, maker, reference } from '../text';

/** A worktree of the project. */
interface WorktreeNode {
	kind: 'worktree';
	name: string;
	/** The top of the worktree of this window that it is looked at from. */
	path: string;
	own: boolean;
	rows: Checkpoint[];
}

interface CheckpointNode extends CheckpointRow {
	kind: 'checkpoint';
	/** The name of the worktree that it is looked at from. */
	worktree: string;
}

type Node = WorktreeNode | CheckpointNode;

export class CheckpointsView implements TreeDataProvider<Node>, Disposable {
	private readonly emitter = new EventEmitter<void>();
	readonly onDidChangeTreeData = this.emitter.event;
	private readonly view: TreeView<Node>;
	private readonly disposables: Disposable[];
	private seen = ''; // what the rows were made for

	constructor(private readonly app: App) {
		this.view = window.createTreeView<Node>('forklift.checkpoints', { treeDataProvider: this, showCollapseAll: true });
		this.disposables = [
			this.emitter,
			this.view,
			app.worktrees.onDidChange(() => this.update()),
			workspace.onDidChangeConfiguration((e) => e.affectsConfiguration('forklift.showSafetyCheckpoints') && this.refresh()),
			// Ages grow old; they are made anew when somebody looks.
			this.view.onDidChangeVisibility((e) => e.visible && this.refresh()),
		];
	}

	/** Looks again whatever was seen. */
	refresh(): void {
		this.seen = '';
		this.update();
	}

	/** Makes the rows anew when the records may have changed, not for every changed file. */
	private update(): void {
		const now = JSON.stringify(this.app.worktrees.tracked().map((s) => [s.worktree.path, s.checkpoint, s.source_checkpoint, s.operation === undefined, s.interrupted]));
		if (now !== this.seen) {
			this.seen = now;
			this.emitter.fire();
		}
		const s = this.app.worktrees.active();
		this.view.description = s?.tracked ? s.worktree.name : '';
		this.view.message = s?.interrupted ? l10n.t('The {0} of {1} was interrupted. Run Forklift: Recover.', s.interrupted.verb, s.interrupted.target) : undefined!;
	}

	async getChildren(node?: Node): Promise<Node[]> {
		if (node) {
			return node.kind === 'worktree' ? node.rows.map((c) => this.row(c, node)) : [];
		}
		const lists = await Promise.all(this.app.worktrees.tracked().map((s) => this.worktrees(s)));
		const groups = unique(lists.flat());
		// One worktree alone needs no level of its own.
		const only = groups.length === 1 ? groups[0] : undefined;
		return only ? only.rows.map((c) => this.row(c, only)) : groups;
	}

	/** The groups of rows of a worktree's project: its own one first. */
	private async worktrees(s: Status): Promise<WorktreeNode[]> {
		const all = workspace.getConfiguration('forklift').get<boolean>('showSafetyCheckpoints', false);
		// The one that the worktree rests on is shown whatever it is: after an
		// undo it is a safety checkpoint.
		const hidden = all || (s.checkpoint !== undefined && s.checkpoint.kind !== 'capture');
		let list: Checkpoint[];
		try {
			list = (await listCheckpoints(this.app, s.worktree.path, { project: true, all: hidden })).rows.filter((c) => all || c.current || c.kind === 'capture');
		} catch (e) {
			this.app.log.warn(`list checkpoints of ${s.worktree.path}: ${e instanceof Error ? e.message : String(e)}`);
			return [];
		}
		const names = [...new Set([...(list.some((c) => c.worktree === s.worktree.name) ? [s.worktree.name] : []), ...list.map((c) => c.worktree)])];
		return names.map((name) => ({
			kind: 'worktree',
			name,
			path: s.worktree.path,
			own: name === s.worktree.name,
			rows: list.filter((c) => c.worktree === name),
		}));
	}

	private row(checkpoint: Checkpoint, group: WorktreeNode): CheckpointNode {
		const s = this.app.worktrees.byPath(group.path);
		return { kind: 'checkpoint', checkpoint, path: group.path, worktree: s?.worktree.name ?? group.name };
	}

	getTreeItem(node: Node): TreeItem {
		return node.kind === 'worktree' ? worktreeItem(node) : checkpointItem(node);
	}

	async resolveTreeItem(item: TreeItem, node: Node): Promise<TreeItem> {
		if (node.kind === 'checkpoint') {
			item.tooltip = await this.tooltip(node);
		}
		return item;
	}

	/** Where a checkpoint came from, and what it takes. */
	private async tooltip(node: CheckpointNode): Promise<MarkdownString> {
		const c = node.checkpoint;
		const tip = new MarkdownString();
		const add = (text: string) => tip.appendText(text).appendMarkdown('\n\n');
		add(reference(c, node.worktree));
		add(c.note ?? c.reason ?? '');
		add(l10n.t('{0}, by {1}', new Date(c.created).toLocaleString(), maker(c.actor)));
		add(l10n.t('{0}, {1}; stored for it alone: {2}, shared: {3}', files(c.files), bytes(c.logical_bytes), bytes(c.own_bytes), bytes(c.shared_bytes)));
		if (c.head) {
			add(l10n.t('Git: {0} at {1}', c.git_branch ?? l10n.t('no branch'), c.head.slice(0, 10)));
		}
		const parents = await this.parents(node);
		if (parents.length > 0) {
			add(l10n.t('After: {0}', parents.join(', ')));
		}
		if (c.protected) {
			add(l10n.t('Protected: it is never forgotten.'));
		}
		return tip;
	}

	/** The names of what the worktree was at before. */
	private async parents(node: CheckpointNode): Promise<string[]> {
		try {
			const detail = await this.app.server.verb<{ pair: { parents?: string[] } }>('show', node.path, { ref: reference(node.checkpoint, node.worktree) });
			const { rows } = await listCheckpoints(this.app, node.path, { project: true, all: true });
			return (detail.pair.parents ?? []).flatMap((id) => rows.filter((c) => c.id === id).map((c) => reference(c, node.worktree)));
		} catch {
			return []; // the rest of the tooltip stands without it
		}
	}

	dispose(): void {
		Disposable.from(...this.disposables).dispose();
	}
}

/** Two folders of one project have the same groups; a worktree is shown once, as its own if it is open. */
function unique(groups: WorktreeNode[]): WorktreeNode[] {
	const kept = new Map<string, WorktreeNode>();
	for (const g of groups) {
		const key = g.rows[0]?.id ?? `${g.path}:${g.name}`;
		const other = kept.get(key);
		if (!other || (g.own && !other.own)) {
			kept.set(key, g);
		}
	}
	return [...kept.values()];
}

function worktreeItem(node: WorktreeNode): TreeItem {
	const item = new TreeItem(node.name, node.own ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed);
	item.id = `worktree:${node.path}:${node.name}`;
	item.iconPath = new ThemeIcon(node.own ? 'root-folder' : 'folder');
	item.description = node.own ? l10n.t('this worktree') : '';
	item.contextValue = node.own ? 'worktree.own' : 'worktree.other';
	item.accessibilityInformation = { label: node.own ? l10n.t('Checkpoints of this worktree, {0}', node.name) : l10n.t('Checkpoints of the worktree {0}', node.name) };
	return item;
}

function checkpointItem(node: CheckpointNode): TreeItem {
	const c = node.checkpoint;
	const item = new TreeItem(c.name, TreeItemCollapsibleState.None);
	item.id = `checkpoint:${node.path}:${c.worktree}:${c.id}`;
	item.iconPath = icon(c);
	const current = c.current ? [c.half ? l10n.t('current ({0})', c.half) : l10n.t('current')] : [];
	item.description = [...current, ago(c.created), c.note ?? c.reason ?? '', c.actor === 'lsp' ? '' : l10n.t('by {0}', maker(c.actor))].filter((t) => t).join(' · ');
	item.contextValue = c.current || c.protected || c.kind !== 'capture' ? 'checkpoint.kept' : 'checkpoint';
	item.accessibilityInformation = spoken(c);
	return item;
}

function icon(c: Checkpoint): ThemeIcon {
	if (c.current) {
		return new ThemeIcon('circle-filled', new ThemeColor('charts.green'));
	}
	return new ThemeIcon(c.protected ? 'lock' : c.kind === 'safety' ? 'shield' : c.kind === 'rescue' ? 'debug-restart' : 'circle-outline');
}

function spoken(c: Checkpoint): AccessibilityInformation {
	const label = l10n.t('Checkpoint {0}, {1}, {2}, by {3}', c.name, ago(c.created), files(c.files), maker(c.actor));
	return { label: [label, c.current ? l10n.t('the worktree rests on it') : '', c.note ?? ''].filter((t) => t).join(', ') };
}
