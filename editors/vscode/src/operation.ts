/** How verbs that change something are run for the user: progress, cancelling, errors. */
import { CancellationTokenSource, type LogOutputChannel, type Progress, ProgressLocation, window } from 'vscode';
import { showFailure } from './failure';
import type { Server } from './server';

/** Shorter work shows in the status bar only. */
const NOTIFY_AFTER = 800;

type Report = Progress<{ message?: string; increment?: number }>;

/**
 * Runs a verb. When it takes a while, a notification tells how far it is and
 * can cancel it; the server decides whether it can still be taken back.
 */
export async function runVerb<R>(server: Server, title: string, verb: string, path: string | undefined, request: object = {}): Promise<R> {
	const source = new CancellationTokenSource();
	const seen: { message?: string; increment?: number }[] = [];
	let shown: Report | undefined;
	const report: Report = { report: (p) => (shown ? shown.report(p) : void seen.push(p)) };
	const work = server.verb<R>(verb, path, request, report, source.token);
	const timer = setTimeout(() => {
		void window.withProgress({ location: ProgressLocation.Notification, title, cancellable: true }, async (progress, token) => {
			token.onCancellationRequested(() => source.cancel());
			seen.forEach((p) => progress.report(p));
			shown = progress;
			await work.then(
				() => undefined,
				() => undefined,
			);
		});
	}, NOTIFY_AFTER);
	try {
		return await work;
	} finally {
		clearTimeout(timer);
		source.dispose();
	}
}

/** A command whose errors are shown. */
export function guarded<A extends unknown[]>(log: LogOutputChannel, run: (...args: A) => Promise<unknown>): (...args: A) => Promise<unknown> {
	return async (...args) => {
		try {
			return await run(...args);
		} catch (e) {
			// Not awaited: the command is over, however long the message stays.
			void showFailure(log, e);
			return undefined;
		}
	};
}
