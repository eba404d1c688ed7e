/** Capture Checkpoint, with and without a name. */
import { CancellationError, commands, l10n, window } from 'vscode';
import type { App } from '../app';
import { failureOf, showWarnings } from '../failure';
import { runVerb } from '../operation';
import type { CaptureResult, Status } from '../protocol';
import { type Argument, isServerRequest, worktreeOf } from '../target';
import { settleUnsaved } from '../unsaved';

/** Captures at once; the name is made by the server. */
export async function capture(app: App, a: Argument): Promise<CaptureResult> {
	const s = await worktreeOf(app, a);
	return captureIn(app, s, isServerRequest(a) && a.note ? { note: a.note } : {});
}

/** Asks for a name and a note first. */
export async function captureNamed(app: App, a: Argument): Promise<CaptureResult> {
	const s = await worktreeOf(app, a);
	const name = await window.showInputBox({
		title: l10n.t('Forklift: Capture Checkpoint (1 of 2)'),
		prompt: l10n.t('Name; empty: one is made from the time'),
		validateInput: (text) => (/^[A-Za-z0-9._-]{0,128}$/.test(text) ? undefined : l10n.t('At most 128 letters, digits, ".", "_" and "-"')),
	});
	if (name === undefined) {
		throw new CancellationError();
	}
	const note = await window.showInputBox({ title: l10n.t('Forklift: Capture Checkpoint (2 of 2)'), prompt: l10n.t('A note to keep with it; can be empty') });
	if (note === undefined) {
		throw new CancellationError();
	}
	return captureIn(app, s, { ...(name ? { name } : {}), ...(note ? { note } : {}) });
}

/** Captures a worktree, and tells the result in a message that needs no answer. */
export async function captureIn(app: App, s: Status, request: { name?: string; note?: string }): Promise<CaptureResult> {
	const { onDisk } = await settleUnsaved(s, 'capture');
	const started = performance.now();
	const r = await withUnsaved(onDisk, (unsaved) =>
		runVerb<CaptureResult>(app.server, l10n.t('Forklift: Capture'), 'capture', s.worktree.path, { ...request, ...unsaved }),
	);
	app.log.info(`captured ${r.name} in ${Math.round(performance.now() - started)} ms (the database was away for ${r.away_ms} ms)`);
	showWarnings(r.warnings);
	void tell(r);
	return r;
}

async function tell(r: CaptureResult): Promise<void> {
	const show = l10n.t('Show Checkpoints');
	const chosen = await window.showInformationMessage(l10n.t('Captured {0}.', r.name), show);
	if (chosen === show) {
		await commands.executeCommand('forklift.checkpoints.focus');
	}
}

/**
 * Runs a verb that refuses unsaved buffers. Those of this window are settled
 * before; when another editor holds some, the user decides about them here.
 */
export async function withUnsaved<R>(onDisk: boolean, run: (request: { include_unsaved?: 'disk' }) => Promise<R>): Promise<R> {
	try {
		return await run(onDisk ? { include_unsaved: 'disk' } : {});
	} catch (e) {
		const f = failureOf(e);
		if (f.kind !== 'unsaved' || onDisk) {
			throw e;
		}
		const go = l10n.t('Go On With What Is on Disk');
		const chosen = await window.showWarningMessage(f.message, { modal: true, detail: (f.items ?? []).join('\n') }, go);
		if (chosen !== go) {
			throw new CancellationError();
		}
		return run({ include_unsaved: 'disk' });
	}
}
