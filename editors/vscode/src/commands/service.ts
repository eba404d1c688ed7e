/** Show Actions, Copy Diagnostics, Show Walkthrough, Choose the Program. */
import { arch, platform, release } from 'node:os';
import { ConfigurationTarget, type QuickPickItem, QuickPickItemKind, ThemeIcon, commands, env, l10n, version, window, workspace } from 'vscode';
import type { App } from '../app';
import type { Status } from '../protocol';
import { changes, statusLine } from '../text';

interface Action extends QuickPickItem {
	command?: string;
}

/** What makes sense now, as a list: a click on the status bar. */
export async function showActions(app: App): Promise<void> {
	const s = app.worktrees.active();
	const items = actions(app, s);
	const chosen = await window.showQuickPick(items, {
		title: s ? `Forklift: ${statusLine(s)}` : 'Forklift',
		placeHolder: l10n.t('What next?'),
		matchOnDescription: true,
	});
	if (chosen?.command) {
		await commands.executeCommand(chosen.command);
	}
}

function actions(app: App, s: Status | undefined): Action[] {
	const action = (icon: string, label: string, command: string, description = ''): Action => ({ label, command, description, iconPath: new ThemeIcon(icon) });
	const paused = app.server.phase === 'paused';
	const service: Action[] = [
		{ label: '', kind: QuickPickItemKind.Separator },
		...(paused ? [action('play', l10n.t('Resume'), 'forklift.resume')] : []),
		action('output', l10n.t('Show Log'), 'forklift.showLog'),
		...(paused ? [] : [action('refresh', l10n.t('Restart'), 'forklift.restart')]),
		...(app.server.phase === 'running' ? [action('circle-slash', l10n.t('Pause'), 'forklift.pause', l10n.t('in this window'))] : []),
		action('book', l10n.t('Show Walkthrough'), 'forklift.showWalkthrough'),
	];
	if (app.server.phase === 'untrusted') {
		return [action('shield', l10n.t('Manage Workspace Trust'), 'workbench.trust.manage'), ...service];
	}
	if (app.server.phase === 'noBinary') {
		return [action('file-binary', l10n.t('Choose the Forklift Program'), 'forklift.choosePath'), ...service];
	}
	if (!s || app.server.phase !== 'running') {
		return service.slice(1);
	}
	if (!s.tracked) {
		return [action('database', l10n.t('Set Up Worktree'), 'forklift.setUp', s.worktree.path), ...service];
	}
	if (s.interrupted) {
		return [action('tools', l10n.t('Recover'), 'forklift.recover', s.interrupted.target), ...service];
	}
	const list = [action('add', l10n.t('Capture Checkpoint'), 'forklift.capture'), action('edit', l10n.t('Capture Checkpoint With a Name'), 'forklift.captureNamed')];
	if (s.checkpoint) {
		list.push(
			action('diff-multiple', l10n.t('Compare Worktree With Checkpoint'), 'forklift.compareWorktree', changes(s)),
			action('history', l10n.t('Restore Checkpoint'), 'forklift.restore'),
			action('discard', l10n.t('Undo Last Restore'), 'forklift.undo'),
			action('repo-forked', l10n.t('New Worktree From Checkpoint'), 'forklift.newWorktree'),
		);
	}
	if (!s.trusted) {
		list.push(action('shield', l10n.t('Trust'), 'forklift.trust', l10n.t('what .forklift.json would run')));
	}
	list.push(action('play', l10n.t('Run Command'), 'forklift.run'), action('terminal', l10n.t('Open Database Shell'), 'forklift.databaseShell', s.server.state));
	return [...list, ...service];
}

/** What a report of a problem needs; no content of files, no URL of a database. */
export async function copyDiagnostics(app: App): Promise<void> {
	const extension = app.context.extension.packageJSON as { version: string };
	const facts = {
		extension: extension.version,
		editor: `${env.appName} ${version} (${env.appHost})`,
		remote: env.remoteName ?? null,
		system: `${platform()} ${release()} ${arch()}`,
		phase: app.server.phase,
		reason: app.server.reason,
		program: app.server.binary ?? null,
		settings: { path: workspace.getConfiguration('forklift').get('path') },
		worktrees: app.worktrees.all().map((s) => ({
			tracked: s.tracked,
			text: s.text,
			icon: s.icon,
			server: s.server,
			files_known: s.files_known,
			rows_known: s.rows_known,
			problems: s.problems ?? [],
		})),
	};
	await env.clipboard.writeText('```json\n' + JSON.stringify(facts, undefined, 2) + '\n```\n');
	void window.showInformationMessage(l10n.t('Copied the diagnostics of Forklift.'));
}

export async function showWalkthrough(app: App): Promise<void> {
	await commands.executeCommand('workbench.action.openWalkthrough', `${app.context.extension.id}#start`, false);
	app.worktrees.tellWalkthrough();
}

/** Lets the user pick the program; the change of the setting starts it. */
export async function choosePath(): Promise<void> {
	const chosen = await window.showOpenDialog({ title: l10n.t('The Program forklift'), canSelectMany: false, openLabel: l10n.t('Use') });
	if (chosen?.[0]) {
		await workspace.getConfiguration('forklift').update('path', chosen[0].fsPath, ConfigurationTarget.Global);
	}
}
