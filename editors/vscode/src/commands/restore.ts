/** Restore Checkpoint, Restore This File, Undo, Redo and Recover. */
import { CancellationError, Uri, commands, l10n, window } from 'vscode';
import type { App } from '../app';
import { failureOf, showWarnings } from '../failure';
import { runVerb } from '../operation';
import { pickCheckpoint } from '../pick';
import type { FileInfo, RecoverResult, RestorePlan, RestoreResult, Status } from '../protocol';
import { type Argument, fileOf, isCheckpointRow, isServerRequest, worktreeOf } from '../target';
import { files, planDetail, reference } from '../text';
import { discardChanges, settleUnsaved } from '../unsaved';
import { pathIn } from '../worktrees';
import { withUnsaved } from './capture';

/** How often a plan that has become old is made again before the user is asked to try later. */
const PLANS = 3;

/** Goes back to a checkpoint: of the argument, else one that the user picks. */
export async function restore(app: App, a: Argument): Promise<RestoreResult> {
	const s = await worktreeOf(app, a);
	if (isServerRequest(a) && a.ref) {
		return restoreRef(app, s, a.ref, a.paths ?? []);
	}
	const c = isCheckpointRow(a)
		? a.checkpoint
		: await pickCheckpoint(app, s, { title: l10n.t('Forklift: Restore Checkpoint'), compare: true, project: true });
	return restoreRef(app, s, reference(c, s.worktree.name), []);
}

/** Puts one file back as it was at a checkpoint. */
export async function restoreFile(app: App, a: Argument): Promise<RestoreResult> {
	const file = fileOf(a);
	if (!file) {
		throw new Error(l10n.t('Open the file that is to be put back.'));
	}
	const s = await worktreeOf(app, file);
	const path = pathIn(s, file) ?? file.fsPath;
	const info = await app.server.request<FileInfo>('forklift/file', { uri: file.toString() });
	const different = new Set(info.checkpoints.filter((c) => !c.same).map((c) => c.id));
	const same = new Set(info.checkpoints.filter((c) => c.same).map((c) => c.id));
	if (different.size === 0 && same.size > 0) {
		throw new Error(l10n.t('{0} is the same in every recent checkpoint.', path));
	}
	const c = await pickCheckpoint(app, s, { title: l10n.t('Forklift: Restore {0} From', path), only: (c) => !same.has(c.id) });
	return restoreRef(app, s, reference(c, s.worktree.name), [path]);
}

/** Shows what a restore would do, asks, and does exactly that. */
async function restoreRef(app: App, s: Status, ref: string, paths: string[]): Promise<RestoreResult> {
	const part = paths.length > 0 ? { paths } : {};
	for (let turn = 1; ; turn++) {
		const decision = await settleUnsaved(s, 'restore');
		const { plan } = await app.server.request<{ plan: RestorePlan }>('forklift/plan', { worktree: Uri.file(s.worktree.path).toString(), ref, ...part });
		const go = l10n.t('Restore');
		const question = paths.length > 0 ? l10n.t('Restore {0} from {1}?', paths.join(', '), plan.name) : l10n.t('Restore {0} in {1}?', plan.name, s.worktree.name);
		if ((await window.showWarningMessage(question, { modal: true, detail: planDetail(plan) }, go)) !== go) {
			throw new CancellationError();
		}
		try {
			return await move(app, s, 'restore', { ref, ...part, yes: true, plan: plan.plan_id }, decision);
		} catch (e) {
			if (failureOf(e).path !== plan.plan_id || turn === PLANS) {
				throw e;
			}
			void window.showInformationMessage(l10n.t('Something changed since you were asked. Please look again.'));
		}
	}
}

/** Takes the last restore, undo or redo back; or undoes an undo. */
export async function undoOrRedo(app: App, verb: 'undo' | 'redo', a: Argument): Promise<RestoreResult> {
	const s = await worktreeOf(app, a);
	return move(app, s, verb, {}, await settleUnsaved(s, 'restore'));
}

async function move(
	app: App,
	s: Status,
	verb: 'restore' | 'undo' | 'redo',
	request: object,
	decision: Awaited<ReturnType<typeof settleUnsaved>>,
): Promise<RestoreResult> {
	const title = { restore: l10n.t('Forklift: Restore'), undo: l10n.t('Forklift: Undo'), redo: l10n.t('Forklift: Redo') }[verb];
	const started = performance.now();
	const r = await withUnsaved(decision.onDisk, (unsaved) => runVerb<RestoreResult>(app.server, title, verb, s.worktree.path, { ...request, ...unsaved }));
	app.log.info(`${verb} of ${r.name} done in ${Math.round(performance.now() - started)} ms`);
	await discardChanges(decision.discard);
	showWarnings(r.warnings);
	void tell(verb, r);
	return r;
}

async function tell(verb: 'restore' | 'undo' | 'redo', r: RestoreResult): Promise<void> {
	const what = files(r.changed + r.removed);
	const text = {
		restore: l10n.t('Restored {0} ({1} written or removed).', r.name, what),
		undo: l10n.t('Undone: back at what was there before ({0} written or removed).', what),
		redo: l10n.t('Redone: back at {0} ({1} written or removed).', r.name, what),
	}[verb];
	const rescued = r.rescued?.length ? ' ' + l10n.t('Files that were edited meanwhile are in the checkpoint {0}.', r.rescue_name ?? '') : '';
	const back = verb === 'undo' ? l10n.t('Redo') : l10n.t('Undo');
	if ((await window.showInformationMessage(text + rescued, back)) === back) {
		await commands.executeCommand(verb === 'undo' ? 'forklift.redo' : 'forklift.undo');
	}
}

/** Ends an interrupted operation, after saying which way. */
export async function recover(app: App, a: Argument): Promise<RecoverResult> {
	const s = await worktreeOf(app, a);
	const i = s.interrupted;
	if (i) {
		const go = l10n.t('Recover');
		const detail = i.forward
			? l10n.t('It was past its turning point: recovering finishes it.')
			: l10n.t('It had not passed its turning point: recovering takes it back, as if it had never begun.');
		const question = l10n.t('The {0} of {1} was interrupted.', i.verb, i.target);
		if ((await window.showWarningMessage(question, { modal: true, detail }, go)) !== go) {
			throw new CancellationError();
		}
	}
	const r = await runVerb<RecoverResult>(app.server, l10n.t('Forklift: Recover'), 'recover', s.worktree.path);
	showWarnings(r.warnings);
	void window.showInformationMessage(
		r.nothing
			? l10n.t('There is nothing to recover.')
			: r.direction === 'forward'
				? l10n.t('Recovered: the {0} is finished.', r.verb)
				: l10n.t('Recovered: it is as if the {0} had never begun.', r.verb),
	);
	return r;
}
