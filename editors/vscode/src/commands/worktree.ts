/** Set Up Worktree, and New Worktree From Checkpoint. */
import { dirname, basename, join } from 'node:path';
import { CancellationError, type QuickPickItem, Uri, commands, l10n, window } from 'vscode';
import type { App } from '../app';
import { showWarnings } from '../failure';
import { runVerb } from '../operation';
import { pickCheckpoint } from '../pick';
import type { SetupResult, Status } from '../protocol';
import { type Argument, isCheckpointRow, worktreeOf } from '../target';
import { ago, bytes, reference } from '../text';

interface Seed {
	name: string;
	created: string;
	logical_bytes: number;
}

/** Gives a worktree of the window a database of its own, from a seed or empty. */
export async function setUp(app: App): Promise<SetupResult | undefined> {
	const s = await untracked(app);
	const { seeds } = await app.server.verb<{ seeds: Seed[] }>('seed_list', s.worktree.path).catch(() => ({ seeds: [] }));
	const usual: QuickPickItem = { label: l10n.t("The project's seed, or an empty database"), description: l10n.t('usual') };
	const items: QuickPickItem[] = [usual, ...seeds.map((seed) => ({ label: seed.name, description: l10n.t('seed'), detail: `${ago(seed.created)} · ${bytes(seed.logical_bytes)}` }))];
	let seed = {};
	if (seeds.length > 0) {
		const chosen = await window.showQuickPick(items, { title: l10n.t('Forklift: Set Up {0} With', basename(s.worktree.path)) });
		if (!chosen) {
			throw new CancellationError();
		}
		seed = chosen === usual ? {} : { seed: chosen.label };
	}
	const r = await runVerb<SetupResult>(app.server, l10n.t('Forklift: Set Up'), 'setup', s.worktree.path, seed);
	showWarnings(r.warnings);
	if (r.review) {
		await window.showTextDocument(Uri.file(r.config_path), { preview: false });
		void window.showInformationMessage(l10n.t('{0} has a database of its own now. Review .forklift.json, which says what a checkpoint saves, and commit it.', r.worktree.name));
	} else {
		void window.showInformationMessage(r.created ? l10n.t('{0} has a database of its own now.', r.worktree.name) : l10n.t('{0} was set up already.', r.worktree.name));
	}
	return r;
}

/** The worktree to set up: one that is not tracked yet, else the active one. */
async function untracked(app: App): Promise<Status> {
	const list = app.worktrees.all().filter((s) => !s.tracked);
	if (list.length > 1) {
		const items = list.map((s) => ({ label: basename(s.worktree.path), description: s.worktree.path, status: s }));
		const chosen = await window.showQuickPick(items, { title: l10n.t('Forklift: Set Up Which Folder?') });
		if (!chosen) {
			throw new CancellationError();
		}
		return chosen.status;
	}
	const s = list[0] ?? app.worktrees.active();
	if (!s) {
		throw new Error(app.server.reason || l10n.t('Open a folder of a git repository first.'));
	}
	return s;
}

interface AddResult {
	worktree: { name: string; path: string };
	git_branch: string;
	warnings?: string[];
}

/** Makes a git worktree that begins with both halves of a checkpoint, and offers to open it. */
export async function newWorktree(app: App, a: Argument): Promise<AddResult> {
	const s = await worktreeOf(app, a);
	const c = isCheckpointRow(a) ? a.checkpoint : await pickCheckpoint(app, s, { title: l10n.t('Forklift: New Worktree From'), project: true });
	const branch = await window.showInputBox({
		title: l10n.t('Forklift: New Worktree From {0}', c.name),
		prompt: l10n.t('Git branch to make, and name of the directory beside {0}', s.worktree.path),
		value: `try-${c.name}`,
		validateInput: (text) => (/^[^\s~^:?*[\\]+$/.test(text) && !text.startsWith('-') ? undefined : l10n.t('That is no name of a git branch.')),
	});
	if (!branch) {
		throw new CancellationError();
	}
	const path = join(dirname(s.worktree.path), branch.replace(/\//g, '-'));
	const r = await runVerb<AddResult>(app.server, l10n.t('Forklift: New Worktree'), 'worktree_add', s.worktree.path, { path, from: reference(c, s.worktree.name), branch });
	showWarnings(r.warnings);
	void offerOpen(r);
	return r;
}

async function offerOpen(r: AddResult): Promise<void> {
	const open = l10n.t('Open in New Window');
	if ((await window.showInformationMessage(l10n.t('Made the worktree {0} on the git branch {1}.', r.worktree.name, r.git_branch), open)) === open) {
		await commands.executeCommand('vscode.openFolder', Uri.file(r.worktree.path), { forceNewWindow: true });
	}
}
