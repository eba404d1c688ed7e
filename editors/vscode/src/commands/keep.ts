/** Forget, Prune and Trust: what is looked at first and then agreed to. */
import { CancellationError, l10n, window } from 'vscode';
import type { App } from '../app';
import { runVerb } from '../operation';
import { pickCheckpoint } from '../pick';
import { type Argument, isCheckpointRow, worktreeOf } from '../target';
import { bytes, reference } from '../text';

interface ForgetResult {
	plan_id: string;
	forget: { name: string; worktree: string }[];
	free_bytes: number;
	done: boolean;
}

/** Forgets a checkpoint; what it held is freed by Prune. */
export async function forget(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	const c = isCheckpointRow(a)
		? a.checkpoint
		: await pickCheckpoint(app, s, { title: l10n.t('Forklift: Forget Checkpoint'), only: (c) => !c.current && !c.protected });
	const refs = [reference(c, s.worktree.name)];
	const plan = await app.server.verb<ForgetResult>('forget', s.worktree.path, { refs });
	const go = l10n.t('Forget');
	const detail = l10n.t('It cannot be restored any more. About {0} can be freed by a prune.', bytes(plan.free_bytes));
	if ((await window.showWarningMessage(l10n.t('Forget {0}?', refs.join(', ')), { modal: true, detail }, go)) !== go) {
		throw new CancellationError();
	}
	await runVerb<ForgetResult>(app.server, l10n.t('Forklift: Forget'), 'forget', s.worktree.path, { refs, yes: true, plan: plan.plan_id });
}

interface PruneResult {
	plan_id: string;
	safety: unknown[];
	unfinished: number;
	remove: number;
	repack: number;
	stray: number;
	bytes: number;
	freed_bytes: number;
}

/** Frees what no checkpoint needs. */
export async function prune(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	const plan = await app.server.verb<PruneResult>('prune', s.worktree.path);
	if (plan.safety.length + plan.unfinished + plan.remove + plan.repack + plan.stray === 0) {
		void window.showInformationMessage(l10n.t('There is nothing to free.'));
		return;
	}
	const go = l10n.t('Prune');
	const detail = l10n.t('Forgets {0} old safety checkpoints. Every other checkpoint stays.', plan.safety.length);
	const question = l10n.t('Free about {0} of {1}?', bytes(plan.freed_bytes), bytes(plan.bytes));
	if ((await window.showWarningMessage(question, { modal: true, detail }, go)) !== go) {
		throw new CancellationError();
	}
	const r = await runVerb<PruneResult>(app.server, l10n.t('Forklift: Prune'), 'prune', s.worktree.path, { yes: true, plan: plan.plan_id });
	void window.showInformationMessage(l10n.t('Freed {0}.', bytes(r.freed_bytes)));
}

interface TrustResult {
	text: string;
	/** Holds the approval to what was shown. */
	plan_id: string;
	trusted: boolean;
	changed: boolean;
}

/** Shows what .forklift.json would run, and approves exactly that. */
export async function trust(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	const shown = await app.server.verb<TrustResult>('trust', s.worktree.path, { show: true });
	if (shown.trusted) {
		void window.showInformationMessage(l10n.t('What .forklift.json would run is approved.'));
		return;
	}
	const go = l10n.t('Approve');
	if ((await window.showWarningMessage(l10n.t('Approve what .forklift.json would run?'), { modal: true, detail: shown.text }, go)) !== go) {
		throw new CancellationError();
	}
	await app.server.verb<TrustResult>('trust', s.worktree.path, { plan: shown.plan_id });
	void window.showInformationMessage(l10n.t('Approved what .forklift.json runs in {0}.', s.worktree.name));
}
