/** Errors as people see them: what failed, what can be done, and a button for it. */
import { CancellationError, type LogOutputChannel, commands, l10n, window } from 'vscode';
import type { Failure } from './protocol';

/** What the server says of a failed verb; any other error becomes one. */
export function failureOf(e: unknown): Failure {
	const data = (e as { data?: unknown } | undefined)?.data;
	if (data && typeof data === 'object' && 'kind' in data && 'message' in data) {
		return data as Failure;
	}
	return { kind: e instanceof CancellationError ? 'canceled' : 'failed', message: e instanceof Error ? e.message : String(e) };
}

/** The user has taken it back: there is nothing to tell. */
export function isCancelled(e: unknown): boolean {
	return e instanceof CancellationError || failureOf(e).kind === 'canceled';
}

/** Shows an error with the buttons that its kind calls for. */
export async function showFailure(log: LogOutputChannel, e: unknown): Promise<void> {
	if (isCancelled(e)) {
		return;
	}
	const f = failureOf(e);
	log.error([f.message, f.hint, ...(f.items ?? [])].filter((line) => line).join('\n'));
	const remedies: Record<string, [string, string] | undefined> = {
		interrupted: [l10n.t('Recover'), 'forklift.recover'],
		untrusted: [l10n.t('Trust'), 'forklift.trust'],
	};
	const remedy = remedies[f.kind];
	const items = f.items?.length ? ` (${f.items.slice(0, 5).join(', ')})` : '';
	const text = `${f.message}${items}${f.hint && !remedy ? `. ${f.hint}` : ''}`;
	const log_ = l10n.t('Show Log');
	const chosen = await window.showErrorMessage(text, ...(remedy ? [remedy[0]] : []), log_);
	if (chosen === log_) {
		log.show();
	} else if (chosen !== undefined && remedy) {
		await commands.executeCommand(remedy[1]);
	}
}

/** Shows what went well but for a remark. */
export function showWarnings(warnings: string[] | undefined): void {
	for (const w of warnings ?? []) {
		void window.showWarningMessage(`Forklift: ${w}`);
	}
}
