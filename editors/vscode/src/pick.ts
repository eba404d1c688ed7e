/** Picking a checkpoint: a list with age, note and size, and what differs from now. */
import { CancellationError, Disposable, type QuickPickItem, QuickPickItemKind, ThemeIcon, Uri, l10n, window } from 'vscode';
import type { App } from './app';
import type { Checkpoint, CheckpointPage, RestorePlan, Status } from './protocol';
import { ago, files, planLine, reference } from './text';

/** Rows of one request, and of all: nobody picks from more. */
const PAGE = 200;
const MOST = 2000;

/** How long a row must be looked at before it is compared with what is there now. */
const COMPARE_AFTER = 200;

export interface ListOptions {
	all?: boolean;
	project?: boolean;
}

/** The checkpoints of a worktree or its project, the newest first, and whether there are still more. */
export async function listCheckpoints(app: App, path: string, options: ListOptions = {}): Promise<{ rows: Checkpoint[]; more: boolean }> {
	const list: Checkpoint[] = [];
	let after = '';
	do {
		const page: CheckpointPage = await app.server.request('forklift/checkpoints', { worktree: Uri.file(path).toString(), limit: PAGE, after, ...options });
		list.push(...page.checkpoints);
		after = page.next ?? '';
	} while (after && list.length < MOST);
	return { rows: list, more: after !== '' };
}

interface Item extends QuickPickItem {
	checkpoint?: Checkpoint;
}

export interface PickOptions extends ListOptions {
	title: string;
	/** Says of the row that is looked at what a restore would change. */
	compare?: boolean;
	only?: (c: Checkpoint) => boolean;
}

/** Lets the user pick a checkpoint; giving up is a CancellationError. */
export async function pickCheckpoint(app: App, s: Status, options: PickOptions): Promise<Checkpoint> {
	const pick = window.createQuickPick<Item>();
	pick.title = options.title;
	pick.placeholder = l10n.t('Name, note, worktree or git branch');
	pick.matchOnDescription = pick.matchOnDetail = true;
	pick.keepScrollPosition = true;
	pick.busy = true;
	const subscriptions: Disposable[] = [pick];
	let timer: NodeJS.Timeout | undefined;
	try {
		return await new Promise<Checkpoint>((resolve, reject) => {
			subscriptions.push(
				pick.onDidAccept(() => {
					const chosen = pick.activeItems[0]?.checkpoint;
					if (chosen) {
						resolve(chosen);
					}
				}),
				pick.onDidHide(() => reject(new CancellationError())),
				pick.onDidChangeActive(([item]) => {
					clearTimeout(timer);
					if (options.compare && item?.checkpoint && !item.detail?.includes('≠')) {
						timer = setTimeout(() => void describe(app, s, pick, item), COMPARE_AFTER);
					}
				}),
			);
			pick.show();
			listCheckpoints(app, s.worktree.path, options)
				.then(({ rows }) => {
					pick.items = items(rows.filter(options.only ?? (() => true)), s.worktree.name, options.compare ?? false);
					pick.busy = false;
					if (pick.items.length === 0) {
						void window.showInformationMessage(l10n.t('There is no checkpoint to choose.'));
						reject(new CancellationError());
					}
				})
				.catch(reject);
		});
	} finally {
		clearTimeout(timer);
		Disposable.from(...subscriptions).dispose();
	}
}

/**
 * The rows: those of this worktree, then those of the others. Rows that are
 * compared all have a second line from the start: one that came later would
 * move those below it under the pointer.
 */
function items(list: Checkpoint[], worktree: string, compare: boolean): Item[] {
	const detail = (c: Checkpoint) => c.note || c.reason || (compare ? new Date(c.created).toLocaleString() : '');
	const item = (c: Checkpoint): Item => ({
		label: reference(c, worktree),
		description: [ago(c.created), files(c.files), c.current ? l10n.t('current') : '', c.git_branch ?? ''].filter((t) => t).join(' · '),
		...(detail(c) ? { detail: detail(c) } : {}),
		iconPath: new ThemeIcon(c.current ? 'circle-filled' : c.kind === 'capture' ? 'circle-outline' : 'shield'),
		checkpoint: c,
	});
	const own = list.filter((c) => c.worktree === worktree).map(item);
	const others = list.filter((c) => c.worktree !== worktree).map(item);
	if (others.length === 0) {
		return own;
	}
	return [...own, { label: l10n.t('other worktrees'), kind: QuickPickItemKind.Separator }, ...others];
}

/** Completes a row with what a restore of it would change. */
async function describe(app: App, s: Status, pick: { items: readonly Item[]; activeItems: readonly Item[] }, item: Item): Promise<void> {
	const c = item.checkpoint;
	if (!c) {
		return;
	}
	const answer = await app.server
		.request<{ plan: RestorePlan }>('forklift/plan', { worktree: Uri.file(s.worktree.path).toString(), ref: reference(c, s.worktree.name) })
		.catch(() => undefined); // the restore itself will tell
	if (!answer || pick.activeItems[0] !== item) {
		return;
	}
	const detail = `≠ ${l10n.t('{0} differ from now', planLine(answer.plan))}${c.note ? ` — ${c.note}` : ''}`;
	// The list is set anew, because rows do not change; the place in it stays.
	const next = pick.items.map((i) => (i === item ? { ...i, detail } : i));
	pick.items = next;
	const active = next.find((i) => i.checkpoint === c);
	if (active) {
		pick.activeItems = [active];
	}
}
