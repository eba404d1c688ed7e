/** A window on one worktree, with a server that answers what a test says. */
import type { ExtensionContext } from 'vscode';
import type { App } from '../../src/app';
import { registerCommands } from '../../src/commands';
import type { Status } from '../../src/protocol';
import type { Phase, Server } from '../../src/server';
import { openLog } from '../../src/server';
import { Worktrees } from '../../src/worktrees';
import { EventEmitter, fake } from './vscode';

export const checkpoint = {
	id: '01', name: 'before_change', worktree: 'shop', kind: 'capture' as const, created: '2027-03-01T12:00:00Z', actor: 'cli',
	files: 3, logical_bytes: 1, own_bytes: 1, shared_bytes: 1, current: true, protected: false,
};

export function status(over: Partial<Status> = {}): Status {
	return {
		tracked: true, text: '', icon: '', worktree: { id: '1', name: 'shop', project: 'p', path: '/srv/shop' }, source: [], files: [], file_count: 0,
		files_known: true, tables: [], row_count: 0, rows_known: true, server: { state: 'running' }, holders: [], trusted: true, ...over,
	};
}

export class Stage {
	readonly app: App;
	/** What the server was asked, and with what. */
	readonly asked: [what: string, how: any][] = [];
	private readonly phases = new EventEmitter<Phase>();
	private readonly statuses = new EventEmitter<Status>();
	private readonly server;
	refreshed = 0;

	/** answers has what the server says to verbs and requests; one that it lacks fails. */
	constructor(answers: Record<string, unknown> = {}) {
		fake.reset('/srv/shop');
		const answer = async (what: string, how: object): Promise<unknown> => {
			this.asked.push([what, how]);
			if (!(what in answers)) {
				throw new Error(`there is no answer to ${what}`);
			}
			const said = answers[what];
			return typeof said === 'function' ? said(how) : said;
		};
		const enter = (phase: Phase): void => this.enter(phase);
		this.server = {
			phase: 'starting' as Phase, reason: '', tooOld: false, binary: { path: '/bin/forklift', version: '0.1.0' },
			onStatus: this.statuses.event, onDidChangePhase: this.phases.event,
			request: (method: string, params: object) => answer(method, params),
			verb: (verb: string, path: string, request: object = {}) => answer(verb, { worktree: path, ...request }),
			restart: async () => enter('running'), pause: async () => enter('paused'),
		};
		const server = this.server as unknown as Server;
		const context = { extension: { id: 'forklift.forklift', packageJSON: { version: '0.1.0' } }, globalState: new Map() };
		this.app = { context: context as unknown as ExtensionContext, log: openLog(), server, worktrees: new Worktrees(server) };
		registerCommands(this.app, () => this.refreshed++);
	}

	enter(phase: Phase, over: { reason?: string; tooOld?: boolean } = {}): void {
		Object.assign(this.server, { reason: '', tooOld: false }, over, { phase });
		this.phases.fire(phase);
	}

	/** The server runs, and tells a status. */
	tell(s: Status): this {
		if (this.server.phase !== 'running') {
			this.enter('running');
		}
		this.statuses.fire(s);
		return this;
	}

	/** Runs a command as the palette does; answers are what the user says to what it asks. */
	async run(name: string, argument?: unknown, ...answers: string[]): Promise<unknown> {
		fake.answers = answers;
		const result = await fake.registered[`forklift.${name}`]?.(argument);
		await settled();
		return result;
	}

	/** What a verb was asked with last. */
	last(what: string): any {
		return this.asked.filter(([name]) => name === what).at(-1)?.[1];
	}
}

/** Waits until all that has an answer has gone on. */
export function settled(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
