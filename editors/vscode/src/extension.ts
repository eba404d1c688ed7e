/** Activation: the parts are made and tied together here, and nothing else. */
import { type ExtensionContext, Uri, commands, l10n, window, workspace } from 'vscode';
import { type ForkliftApi, createApi } from './api';
import type { App } from './app';
import { registerCommands } from './commands';
import { taskProvider } from './commands/database';
import { contentOf } from './content';
import { FileStatus } from './languageStatus';
import { middleware } from './middleware';
import { Server, openLog } from './server';
import { StatusBar } from './statusBar';
import { Trace } from './trace';
import { reloadStale } from './unsaved';
import { ChangesView } from './views/changes';
import { CheckpointsView } from './views/checkpoints';
import { Worktrees } from './worktrees';

/** Registers everything and starts the server without waiting for it. */
export function activate(context: ExtensionContext): ForkliftApi {
	const log = openLog();
	const trace = new Trace();
	const server: Server = new Server(
		log,
		middleware((uri: Uri) => contentOf(server, uri)),
		trace,
	);
	const worktrees = new Worktrees(server);
	const app: App = { context, log, server, worktrees };
	const checkpoints = new CheckpointsView(app);
	const changes = new ChangesView(app);
	const api = createApi(server, worktrees, context.subscriptions);
	context.subscriptions.push(
		server,
		trace,
		log,
		worktrees,
		checkpoints,
		changes,
		new StatusBar(server, worktrees),
		new FileStatus(app),
		taskProvider(app),
		...registerCommands(app, () => [checkpoints, changes].forEach((view) => view.refresh())),
		server.onRestored((r) => void reloadStale(r.files.flatMap((f) => f.uri ?? []))),
		server.onRestored(() => changes.refresh()), // what is defined otherwise, too
		server.onDidChangePhase((phase) => void (phase === 'noBinary' && offerProgram(app))),
		workspace.onDidGrantWorkspaceTrust(() => server.restart()),
		workspace.onDidChangeConfiguration((e) => e.affectsConfiguration('forklift.path') && void server.restart()),
		// The first folder of a window starts the server, the last one ends it;
		// the language client tells it of those between.
		workspace.onDidChangeWorkspaceFolders(() => (server.phase === 'noFolder' || !workspace.workspaceFolders?.length) && void server.restart()),
	);
	void server.start();
	return api;
}

/** Says once per window, and once per reason, that the program is missing. */
let offered = '';

async function offerProgram(app: App): Promise<void> {
	const never = 'forklift.programNotWanted';
	if (offered === app.server.reason || app.context.globalState.get<boolean>(never)) {
		return;
	}
	offered = app.server.reason;
	const [choose, how, again] = [l10n.t('Choose the Program'), l10n.t('How to Get It'), l10n.t("Don't Show Again")];
	const chosen = await window.showWarningMessage(app.server.reason, choose, how, again);
	if (chosen === again) {
		await app.context.globalState.update(never, true);
	} else if (chosen === choose || chosen === how) {
		await commands.executeCommand(chosen === choose ? 'forklift.choosePath' : 'forklift.showWalkthrough');
	}
}
