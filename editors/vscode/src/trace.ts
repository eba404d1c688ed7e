/**
 * The setting forklift.trace.server. The language client tells what it talks
 * with the program while the level of its channel is Trace, and reads of the
 * setting only how much; users expect that the setting alone decides. So it
 * gets a channel whose level is that of the setting, and what it tells is written
 * as plain information, which is shown at every level but Off.
 */
import { Disposable, EventEmitter, LogLevel, type LogOutputChannel, window, workspace } from 'vscode';

export class Trace implements Disposable {
	/** For the language client. */
	readonly channel: LogOutputChannel;
	private readonly disposables: Disposable[];

	constructor() {
		const output = window.createOutputChannel('Forklift Trace', { log: true });
		const level = new EventEmitter<LogLevel>();
		this.channel = Object.create(output, {
			logLevel: { get: wanted },
			onDidChangeLogLevel: { value: level.event },
			trace: { value: (text: string, ...more: unknown[]) => output.info(text, ...more) },
		}) as LogOutputChannel;
		this.disposables = [output, level, workspace.onDidChangeConfiguration((e) => e.affectsConfiguration('forklift.trace.server') && level.fire(wanted()))];
	}

	dispose(): void {
		Disposable.from(...this.disposables).dispose();
	}
}

function wanted(): LogLevel {
	return workspace.getConfiguration('forklift').get('trace.server', 'off') === 'off' ? LogLevel.Off : LogLevel.Trace;
}
