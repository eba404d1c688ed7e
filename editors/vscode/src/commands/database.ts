/** Run Command, Open Database Shell and Copy Database URL. */
import {
	CancellationError,
	type Disposable,
	ProcessExecution,
	Task,
	TaskPanelKind,
	TaskRevealKind,
	TaskScope,
	type TaskDefinition,
	Uri,
	commands,
	env,
	l10n,
	tasks,
	window,
	workspace,
} from 'vscode';
import type { App } from '../app';
import type { ProjectCommands, Status } from '../protocol';
import { type Argument, worktreeOf } from '../target';

function projectCommands(app: App, s: Status): Promise<ProjectCommands> {
	return app.server.request('forklift/commands', { worktree: Uri.file(s.worktree.path).toString() });
}

/** Runs a command of .forklift.json in a terminal, with the worktree's database. */
export async function runCommand(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	const project = await projectCommands(app, s);
	if (project.commands.length === 0) {
		const open = l10n.t('Open .forklift.json');
		if ((await window.showInformationMessage(l10n.t('.forklift.json names no commands. Give it a key "commands".'), open)) === open) {
			await window.showTextDocument(Uri.joinPath(Uri.file(s.worktree.path), '.forklift.json'));
		}
		return;
	}
	const items = project.commands.map((c) => ({ label: c.name, description: c.argv.join(' ') }));
	const chosen = await window.showQuickPick(items, { title: l10n.t('Forklift: Run in {0}', s.worktree.name), matchOnDescription: true });
	if (!chosen) {
		throw new CancellationError();
	}
	if (!project.trusted) {
		await commands.executeCommand('forklift.trust');
		if (!(await projectCommands(app, s)).trusted) {
			throw new CancellationError();
		}
	}
	await tasks.executeTask(task(app, s, { type: 'forklift', command: chosen.label }));
}

/** A task that runs a command of the project; its terminal stays open at the end. */
function task(app: App, s: Status, definition: TaskDefinition): Task {
	const name = String(definition['command']);
	const folder = workspace.workspaceFolders?.find((f) => app.worktrees.of(f.uri) === s);
	const t = new Task(definition, folder ?? TaskScope.Workspace, name, 'forklift', new ProcessExecution(program(app), ['run', name], { cwd: s.worktree.path }));
	t.presentationOptions = { reveal: TaskRevealKind.Always, panel: TaskPanelKind.Dedicated };
	return t;
}

function program(app: App): string {
	if (!app.server.binary) {
		throw new Error(l10n.t('Forklift does not run.'));
	}
	return app.server.binary.path;
}

/** Offers the commands of every worktree where VS Code lists tasks. */
export function taskProvider(app: App): Disposable {
	return tasks.registerTaskProvider('forklift', {
		async provideTasks() {
			const lists = await Promise.all(
				app.worktrees.tracked().map(async (s) => {
					const project = await projectCommands(app, s).catch(() => ({ commands: [], trusted: false }));
					return project.commands.map((c) => task(app, s, { type: 'forklift', command: c.name }));
				}),
			);
			return lists.flat();
		},
		resolveTask(given) {
			const s = app.worktrees.active();
			return s?.tracked && typeof given.definition['command'] === 'string' ? task(app, s, given.definition) : undefined;
		},
	});
}

/** Opens psql, or Forklift's own prompt, on the worktree's database. */
export async function databaseShell(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	window.createTerminal({ name: l10n.t('Database of {0}', s.worktree.name), cwd: s.worktree.path, shellPath: program(app), shellArgs: ['db', 'shell'] }).show();
}

/** Copies the database's URL, which may hold a password: it is not shown. */
export async function copyUrl(app: App, a: Argument): Promise<void> {
	const s = await worktreeOf(app, a);
	const { url } = await app.server.verb<{ url: string }>('db_url', s.worktree.path);
	await env.clipboard.writeText(url);
	window.setStatusBarMessage(l10n.t('Copied the URL of the database of {0}', s.worktree.name), 4000);
}
