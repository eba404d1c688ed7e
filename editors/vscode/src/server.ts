/**
 * The connection to `forklift lsp`: one per window, for all of its folders.
 * It starts, restarts and ends it, and says in which phase it is. Everything
 * that the extension knows of a worktree comes through here.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { Disposable, EventEmitter, type CancellationToken, type LogOutputChannel, type Progress, Uri, l10n, window, workspace } from 'vscode';
import type { LanguageClient, Middleware, WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport } from 'vscode-languageclient/node';
import { type Binary, NoBinary, findBinary } from './binary';
import type { DidRestore, Status } from './protocol';
import type { Trace } from './trace';

/** Where the connection is. Only in "running" there is somebody to ask; "paused" is the user's wish. */
export type Phase = 'noFolder' | 'untrusted' | 'starting' | 'noBinary' | 'failed' | 'paused' | 'running';

/** How much of what the program says on its standard error is kept for messages. */
const MAX_STDERR = 4000;

export class Server implements Disposable {
	phase: Phase = 'starting';
	/** Why the phase is noBinary, failed or paused. */
	reason = '';
	/** The phase is noBinary because the program is too old. */
	tooOld = false;
	binary: Binary | undefined;

	private client: LanguageClient | undefined;
	private lib: typeof import('./languageClient.js') | undefined;
	private starting = 0; // counts starts, so that an overtaken one gives way
	private token = 0;
	private stderr = '';
	private readonly phaseEmitter = new EventEmitter<Phase>();
	private readonly statusEmitter = new EventEmitter<Status>();
	private readonly restoredEmitter = new EventEmitter<DidRestore>();
	readonly onDidChangePhase = this.phaseEmitter.event;
	readonly onStatus = this.statusEmitter.event;
	readonly onRestored = this.restoredEmitter.event;

	constructor(
		private readonly log: LogOutputChannel,
		private readonly middleware: Middleware,
		private readonly trace: Trace,
	) {}

	/** Starts the program if this window has folders that are trusted. It never fails; see phase. */
	async start(): Promise<void> {
		const mine = ++this.starting;
		if (!workspace.isTrusted) {
			return this.enter('untrusted');
		}
		if (!(workspace.workspaceFolders ?? []).some((f) => f.uri.scheme === 'file')) {
			return this.enter('noFolder');
		}
		this.enter('starting');
		try {
			const binary = await findBinary();
			if (mine !== this.starting) {
				return;
			}
			this.binary = binary;
			this.lib ??= load();
			const client = this.connect(binary, this.lib);
			this.client = client;
			await client.start();
			if (mine === this.starting) {
				this.log.info(`connected to forklift ${client.initializeResult?.serverInfo?.version ?? '?'} (${binary.path})`);
				this.enter('running');
			}
		} catch (e) {
			if (mine !== this.starting) {
				return;
			}
			const text = e instanceof Error ? e.message : String(e);
			if (e instanceof NoBinary) {
				this.tooOld = e.tooOld;
				this.enter('noBinary', text); // what an earlier one said is not of it
			} else {
				this.enter('failed', this.stderr.trim() || text);
			}
		}
	}

	async restart(): Promise<void> {
		await this.stop();
		await this.start();
	}

	/**
	 * Ends the program of this window until it is restarted: nothing is watched
	 * and counted for it. What an operation has begun is finished all the same;
	 * databases, and the windows of others, go on.
	 */
	async pause(): Promise<void> {
		const mine = this.starting + 1;
		await this.stop();
		if (mine === this.starting) {
			this.enter('paused', l10n.t('Forklift is paused in this window.'));
		}
	}

	private connect(binary: Binary, lib: typeof import('./languageClient.js')): LanguageClient {
		this.stderr = '';
		const client = new lib.LanguageClient(
			'forklift',
			'Forklift',
			() => Promise.resolve(this.spawn(binary)),
			{
				documentSelector: [{ scheme: 'file' }],
				outputChannel: this.log,
				traceOutputChannel: this.trace.channel,
				revealOutputChannelOn: lib.RevealOutputChannelOn.Never,
				initializationFailedHandler: () => false,
				middleware: this.middleware,
			},
		);
		client.onNotification('forklift/status', (s: Status) => this.statusEmitter.fire(s));
		client.onNotification('forklift/didRestore', (r: DidRestore) => this.restoredEmitter.fire(r));
		client.onDidChangeState((e) => {
			if (this.client !== client || this.phase === 'starting') {
				return;
			}
			if (e.newState === lib.State.Running) {
				this.enter('running');
			} else if (e.newState === lib.State.Stopped) {
				this.enter('failed', this.stderr.trim() || l10n.t('forklift lsp has ended.'));
			}
		});
		return client;
	}

	private spawn(binary: Binary): ChildProcess {
		const folder = workspace.workspaceFolders?.find((f) => f.uri.scheme === 'file');
		const child = spawn(binary.path, ['lsp'], { cwd: folder?.uri.fsPath, stdio: 'pipe' });
		child.stderr.setEncoding('utf8');
		child.stderr.on('data', (text: string) => (this.stderr = (this.stderr + text).slice(-MAX_STDERR)));
		return child;
	}

	private enter(phase: Phase, reason = ''): void {
		if (phase === 'paused') {
			this.log.info(reason);
		} else if (reason) {
			this.log.error(reason);
		}
		this.phase = phase;
		this.reason = reason;
		this.phaseEmitter.fire(phase);
	}

	/** Asks something; worktree is the path of its top. */
	request<R>(method: string, params: object, token?: CancellationToken): Promise<R> {
		if (!this.client || this.phase !== 'running') {
			return Promise.reject(new Error(this.reason || l10n.t('Forklift does not run.')));
		}
		// A token that is undefined would be taken for a second parameter.
		return token ? this.client.sendRequest<R>(method, params, token) : this.client.sendRequest<R>(method, params);
	}

	/**
	 * Runs a verb in the worktree whose top is at path. What it reports goes
	 * to progress, and the token cancels it as long as it can be taken back.
	 */
	async verb<R>(
		verb: string,
		path: string | undefined,
		request: object = {},
		progress?: Progress<{ message?: string; increment?: number }>,
		token?: CancellationToken,
	): Promise<R> {
		const client = this.client;
		const id = `forklift-vscode-${++this.token}`;
		let percent = 0;
		const reports = this.lib && client?.onProgress(this.lib.WorkDoneProgress.type, id, (p: WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd) => {
			if (p.kind === 'end') {
				return;
			}
			const now = p.percentage ?? percent;
			progress?.report({ ...(p.message ? { message: p.message } : {}), increment: now - percent });
			percent = now;
		});
		try {
			const argument = path === undefined ? request : { ...request, worktree: Uri.file(path).toString() };
			return await this.request<R>('workspace/executeCommand', { command: `forklift.server.${verb}`, arguments: [argument], workDoneToken: id }, token);
		} finally {
			reports?.dispose();
		}
	}

	private async stop(): Promise<void> {
		this.starting++;
		const client = this.client;
		this.client = undefined;
		try {
			await client?.dispose();
		} catch (e) {
			this.log.warn(`end forklift lsp: ${String(e)}`); // one that never began has nothing to end
		}
	}

	dispose(): Promise<void> {
		return this.stop();
	}
}

/** Loads the other bundle. By require, which gives it the editor's API as this one has it. */
function load(): typeof import('./languageClient.js') {
	return require('./languageClient.js') as typeof import('./languageClient.js');
}

/** The channel that Show Log opens. */
export function openLog(): LogOutputChannel {
	return window.createOutputChannel('Forklift', { log: true });
}
