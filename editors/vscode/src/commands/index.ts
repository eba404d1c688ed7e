/** Registers the commands of the palette, the views and the menus. */
import { type Disposable, commands, env } from 'vscode';
import type { App } from '../app';
import { guarded } from '../operation';
import { type Argument, type FileRow, isCheckpointRow } from '../target';
import { capture, captureNamed } from './capture';
import { compareFile, compareWorktree, openChange } from './compare';
import { copyUrl, databaseShell, runCommand } from './database';
import { forget, prune, trust } from './keep';
import { recover, restore, restoreFile, undoOrRedo } from './restore';
import { choosePath, copyDiagnostics, showActions, showWalkthrough } from './service';
import { newWorktree, setUp } from './worktree';

/** Every command; refresh lets the views look again. */
export function registerCommands(app: App, refresh: () => void): Disposable[] {
	const table: Record<string, (a: Argument) => Promise<unknown>> = {
		setUp: () => setUp(app),
		newWorktree: (a) => newWorktree(app, a),
		capture: (a) => capture(app, a),
		captureNamed: (a) => captureNamed(app, a),
		restore: (a) => restore(app, a),
		restoreFile: (a) => restoreFile(app, a),
		undo: (a) => undoOrRedo(app, 'undo', a),
		redo: (a) => undoOrRedo(app, 'redo', a),
		recover: (a) => recover(app, a),
		compareFile: (a) => compareFile(app, a),
		compareWorktree: (a) => compareWorktree(app, a),
		openChange: (a) => openChange(app, a as FileRow),
		run: (a) => runCommand(app, a),
		databaseShell: (a) => databaseShell(app, a),
		copyUrl: (a) => copyUrl(app, a),
		forget: (a) => forget(app, a),
		prune: (a) => prune(app, a),
		trust: (a) => trust(app, a),
		copyName: async (a) => isCheckpointRow(a) && env.clipboard.writeText(a.checkpoint.name),
		showActions: () => showActions(app),
		showLog: async () => app.log.show(),
		restart: () => app.server.restart(),
		pause: () => app.server.pause(),
		resume: () => app.server.restart(),
		copyDiagnostics: () => copyDiagnostics(app),
		showWalkthrough: () => showWalkthrough(app),
		choosePath: () => choosePath(),
		refresh: async () => refresh(),
	};
	return Object.entries(table).map(([name, run]) => commands.registerCommand(`forklift.${name}`, guarded(app.log, run)));
}
