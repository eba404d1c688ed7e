/**
 * What is known of the window's worktrees: the last status of each, which one
 * the user is at, and the context keys that menus and views go by.
 */
import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { Disposable, EventEmitter, Uri, commands, window, workspace } from 'vscode';
import type { Status } from './protocol';
import type { Server } from './server';

/** What the views show instead of rows; see viewsWelcome in package.json. */
export type ViewState = Server['phase'] | 'tooOld' | 'notGit' | 'untracked' | 'ready';

export class Worktrees implements Disposable {
	private readonly statuses = new Map<string, Status>();
	private readonly emitter = new EventEmitter<void>();
	private readonly disposables: Disposable[] = [];
	private readonly told = new Map<string, unknown>();
	/** A status came, the phase changed, or the user went to another worktree. */
	readonly onDidChange = this.emitter.event;

	constructor(private readonly server: Server) {
		this.disposables.push(
			server.onStatus((s) => {
				this.statuses.set(s.worktree.path, s);
				this.changed();
			}),
			server.onDidChangePhase((phase) => {
				if (phase !== 'running') {
					this.statuses.clear();
				}
				this.changed();
			}),
			window.onDidChangeActiveTextEditor(() => this.changed()),
			workspace.onDidChangeWorkspaceFolders(() => this.forgetClosed()),
		);
	}

	/** The last status of every worktree of the window, in the order of its folders. */
	all(): Status[] {
		const list: Status[] = [];
		for (const folder of workspace.workspaceFolders ?? []) {
			const s = this.of(folder.uri);
			if (s && !list.includes(s)) {
				list.push(s);
			}
		}
		return list;
	}

	tracked(): Status[] {
		return this.all().filter((s) => s.tracked);
	}

	/** The worktree that holds a file; the innermost one. */
	of(uri: Uri | undefined): Status | undefined {
		if (!uri || uri.scheme !== 'file') {
			return undefined;
		}
		const path = real(uri.fsPath);
		let best: Status | undefined;
		for (const s of this.statuses.values()) {
			if (within(path, s.worktree.path) && (!best || s.worktree.path.length > best.worktree.path.length)) {
				best = s;
			}
		}
		return best;
	}

	/** The worktree that the user is at: of the active editor, else the first one. */
	active(): Status | undefined {
		return this.of(window.activeTextEditor?.document.uri) ?? this.tracked()[0] ?? this.all()[0];
	}

	byPath(path: string): Status | undefined {
		return this.statuses.get(path);
	}

	viewState(): ViewState {
		const s = this.active();
		if (this.server.phase !== 'running') {
			return this.server.phase === 'noBinary' && this.server.tooOld ? 'tooOld' : this.server.phase;
		}
		if (!s) {
			return 'starting';
		}
		if (s.tracked) {
			return 'ready';
		}
		return (s.problems ?? []).some((p) => p.includes('not inside a git worktree')) ? 'notGit' : 'untracked';
	}

	private forgetClosed(): void {
		const open = new Set(this.all().map((s) => s.worktree.path));
		for (const path of this.statuses.keys()) {
			if (!open.has(path)) {
				this.statuses.delete(path);
			}
		}
		this.changed();
	}

	private changed(): void {
		const s = this.active();
		this.tell('forklift.state', this.viewState());
		this.tell('forklift.running', this.server.phase === 'running');
		this.tell('forklift.tracked', s?.tracked === true);
		this.tell('forklift.interrupted', s?.interrupted !== undefined);
		this.tell('forklift.hasCheckpoints', s?.checkpoint !== undefined);
		this.tell('forklift.hasChanges', s !== undefined && (s.file_count > 0 || s.tables.length > 0));
		this.emitter.fire();
	}

	/**
	 * Completes the steps of the walkthrough that are done already. The editor
	 * learns of the walkthrough's keys when it first shows it, and only a key
	 * that becomes true after that completes a step.
	 */
	tellWalkthrough(): void {
		for (const name of ['running', 'tracked', 'hasCheckpoints']) {
			if (this.told.get(`forklift.${name}`) === true) {
				this.tell(`forklift.shown.${name}`, true);
			}
		}
	}

	private tell(key: string, value: unknown): void {
		if (this.told.get(key) !== value) {
			this.told.set(key, value);
			void commands.executeCommand('setContext', key, value);
		}
	}

	dispose(): void {
		Disposable.from(...this.disposables, this.emitter).dispose();
	}
}

/** A path as the server names it: not reached by links. */
function real(path: string): string {
	try {
		return realpathSync.native(path);
	} catch {
		return path;
	}
}

function within(path: string, dir: string): boolean {
	const rel = relative(dir, path);
	return rel === '' || (rel !== '..' && !rel.startsWith('..' + sep) && !isAbsolute(rel));
}

/** The path of a file in its worktree, with slashes; undefined for one outside of it. */
export function pathIn(s: Status, uri: Uri): string | undefined {
	const path = real(uri.fsPath);
	return within(path, s.worktree.path) ? relative(s.worktree.path, path).split(sep).join('/') : undefined;
}
