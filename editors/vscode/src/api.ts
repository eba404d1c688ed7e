/**
 * What other extensions can use:
 *
 *     const forklift = vscode.extensions.getExtension('forklift.forklift');
 *     const api = await forklift?.activate();
 *     api.getState().worktrees[0]?.checkpoint?.name
 *
 * A later version adds to these types and takes nothing away while apiVersion
 * is 1.
 */
import { Disposable, EventEmitter, type Event } from 'vscode';
import type { Server } from './server';
import type { Worktrees } from './worktrees';

export interface WorktreeState {
	/** The absolute path of its top. */
	path: string;
	name: string;
	/** It has a database of its own; the rest is empty when it does not. */
	tracked: boolean;
	/** The checkpoint that it rests on; undefined before the first one. */
	checkpoint: { id: string; name: string; created: string } | undefined;
	/** How many source files differ from the checkpoint; undefined while that is not known. */
	files: number | undefined;
	/** How many rows do; undefined while that is not known. */
	rows: number | undefined;
	/** The verb that is under way. */
	operation: string | undefined;
	/** The verb that was cut off and must be recovered. */
	interrupted: string | undefined;
}

export interface State {
	/** noFolder, untrusted, starting, noBinary, failed, paused or running. */
	phase: string;
	worktrees: WorktreeState[];
}

export interface ForkliftApi {
	readonly apiVersion: 1;
	/** What is known now; nothing is asked for. */
	getState(): State;
	/** Fires when getState tells something new. */
	readonly onDidChange: Event<State>;
}

export function createApi(server: Server, worktrees: Worktrees, disposables: Disposable[]): ForkliftApi {
	const emitter = new EventEmitter<State>();
	const getState = (): State => ({
		phase: server.phase,
		worktrees: worktrees.all().map((s) => ({
			path: s.worktree.path,
			name: s.worktree.name,
			tracked: s.tracked,
			checkpoint: s.checkpoint && { id: s.checkpoint.id, name: s.checkpoint.name, created: s.checkpoint.created },
			files: s.tracked && s.files_known ? s.file_count : undefined,
			rows: s.tracked && s.rows_known ? s.row_count : undefined,
			operation: s.operation?.verb,
			interrupted: s.interrupted?.verb,
		})),
	});
	let last = '';
	disposables.push(
		emitter,
		worktrees.onDidChange(() => {
			const state = getState();
			const text = JSON.stringify(state);
			if (text !== last) {
				last = text;
				emitter.fire(state);
			}
		}),
	);
	return { apiVersion: 1, getState, onDidChange: emitter.event };
}
