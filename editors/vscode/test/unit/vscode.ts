/**
 * A stand-in for the parts of the editor's API that the extension uses: what
 * it registers, shows and asks is kept in fake, and answered from there.
 */
export const l10n = {
	t: (text: string, ...args: unknown[]): string => text.replace(/\{(\d+)\}/g, (_, n: string) => String(args[Number(n)])),
};

type Handler = (...args: any[]) => unknown;

export class Disposable {
	constructor(private readonly end: () => void) {}

	static from(...list: { dispose(): void }[]): Disposable {
		return new Disposable(() => list.forEach((d) => d.dispose()));
	}

	dispose(): void {
		this.end();
	}
}

export class EventEmitter<T> {
	private readonly handlers = new Set<(e: T) => unknown>();
	readonly event = (handler: (e: T) => unknown): Disposable => {
		this.handlers.add(handler);
		return new Disposable(() => this.handlers.delete(handler));
	};

	fire(e: T): void {
		this.handlers.forEach((handler) => handler(e));
	}

	dispose(): void {
		this.handlers.clear();
	}
}

export class Uri {
	constructor(
		readonly scheme: string,
		readonly path: string,
		readonly query = '',
	) {}

	static file(path: string): Uri {
		return new Uri('file', path);
	}

	static parse(text: string): Uri {
		const u = new URL(text);
		return new Uri(u.protocol.slice(0, -1), decodeURIComponent(u.pathname), u.search.slice(1));
	}

	static from(p: { scheme: string; path: string; query?: string }): Uri {
		return new Uri(p.scheme, p.path, p.query);
	}

	static joinPath(u: Uri, ...parts: string[]): Uri {
		return new Uri(u.scheme, [u.path, ...parts].join('/'));
	}

	get fsPath(): string {
		return this.path;
	}

	toString(): string {
		return `${this.scheme}://${encodeURI(this.path)}${this.query && `?${this.query}`}`;
	}
}

export class MarkdownString {
	value = '';
	isTrusted: { enabledCommands: string[] } | undefined;

	appendText(text: string): this {
		this.value += text;
		return this;
	}

	appendMarkdown(text: string): this {
		return this.appendText(text);
	}
}

export class ThemeIcon {
	static readonly File = new ThemeIcon('file');

	constructor(
		readonly id: string,
		readonly color?: ThemeColor,
	) {}
}

export class ThemeColor {
	constructor(readonly id: string) {}
}

export class TreeItem {
	constructor(
		readonly label: string | Uri,
		readonly collapsibleState: number,
	) {}
}

export class CancellationError extends Error {}

export class CancellationTokenSource {
	readonly token = {};
	cancel(): void {}
	dispose(): void {}
}

export class Task {
	presentationOptions = {};

	constructor(
		readonly definition: object,
		readonly scope: unknown,
		readonly name: string,
		readonly source: string,
		readonly execution: ProcessExecution,
	) {}
}

export class ProcessExecution {
	constructor(
		readonly process: string,
		readonly args: string[],
		readonly options: object,
	) {}
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export const StatusBarAlignment = { Left: 1 };
export const LanguageStatusSeverity = { Information: 0 };
export const QuickPickItemKind = { Separator: -1 };
export const ProgressLocation = { Notification: 15 };
export const ConfigurationTarget = { Global: 1 };
export const CompletionItemKind = { File: 16, Folder: 18 };
export const TaskRevealKind = { Always: 1 };
export const TaskPanelKind = { Dedicated: 2 };
export const TaskScope = { Workspace: 2 };
export const LogLevel = { Off: 0, Trace: 1, Info: 3 };
export const version = '1.91.0';

/** A message, a question or a list that was shown. */
export interface Shown {
	how: 'information' | 'warning' | 'error' | 'pick' | 'input' | 'open';
	text: string;
	detail: string;
	items: any[];
}

class Fake {
	/** The keys of setContext. */
	context: Record<string, unknown> = {};
	/** The commands that were run but for setContext, with their arguments. */
	executed: unknown[][] = [];
	registered: Record<string, Handler> = {};
	settings: Record<string, unknown> = {};
	shown: Shown[] = [];
	/** What the user answers to the next ones: a part of a button or row, or a text; undefined when there is none left. */
	answers: string[] = [];
	lines: string[] = [];
	clipboard = '';
	terminals: any[] = [];
	tasks: Task[] = [];
	statusItems: any[] = [];
	trees: Record<string, any> = {};
	readonly configured = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();

	/** As at the start of a window on folders. */
	reset(...folders: string[]): void {
		const fresh = new Fake();
		Object.assign(this, fresh, { configured: this.configured });
		workspace.isTrusted = true;
		workspace.workspaceFolders = folders.map((path) => ({ uri: Uri.file(path), name: path.slice(path.lastIndexOf('/') + 1) }));
		workspace.textDocuments = [];
		window.activeTextEditor = undefined;
	}

	set(name: string, value: unknown): void {
		this.settings[name] = value;
		this.configured.fire({ affectsConfiguration: (n) => n === name });
	}

	show(how: Shown['how'], text: string, detail: string, items: any[]): any {
		this.shown.push({ how, text, detail, items });
		if (how === 'input' || how === 'open') {
			return this.answers.shift();
		}
		const label = (item: any): string => (typeof item === 'string' ? item : item.label);
		const at = items.findIndex((item) => this.answers.length > 0 && label(item).includes(this.answers[0] ?? ''));
		return at >= 0 ? (this.answers.shift(), items[at]) : undefined;
	}
}

export const fake = new Fake();

const message =
	(how: Shown['how']): Handler =>
	async (text: string, ...more: any[]) => {
		const options = typeof more[0] === 'object' ? more.shift() : {};
		return fake.show(how, text, options.detail ?? '', more);
	};
const never = (): Disposable => new Disposable(() => undefined);

export const window = {
	activeTextEditor: undefined as unknown,
	visibleTextEditors: [],
	onDidChangeActiveTextEditor: never,
	showInformationMessage: message('information'),
	showWarningMessage: message('warning'),
	showErrorMessage: message('error'),
	showQuickPick: async (items: any[], options: { title: string }) => fake.show('pick', options.title, '', items),
	showInputBox: async (options: { title: string; prompt: string }) => fake.show('input', options.title, options.prompt, []),
	showOpenDialog: async (options: { title: string }) => {
		const path = fake.show('open', options.title, '', []);
		return path && [Uri.file(path)];
	},
	showTextDocument: async (what: unknown) => fake.executed.push(['showTextDocument', what]),
	setStatusBarMessage: (text: string) => fake.lines.push(text),
	withProgress: async (_: unknown, run: Handler) => run({ report: () => undefined }, { onCancellationRequested: never }),
	createTerminal: (options: object) => {
		fake.terminals.push(options);
		return { show: () => undefined };
	},
	createStatusBarItem: (id: string) => {
		const item = { id, visible: false, show: () => void (item.visible = true), hide: () => void (item.visible = false), dispose: () => undefined };
		fake.statusItems.push(item);
		return item;
	},
	createTreeView: (id: string, options: { treeDataProvider: unknown }) => {
		const visibility = new EventEmitter<{ visible: boolean }>();
		const view = {
			provider: options.treeDataProvider,
			visible: false,
			onDidChangeVisibility: visibility.event,
			open: () => {
				view.visible = true;
				visibility.fire({ visible: true });
			},
			dispose: () => undefined,
		};
		return (fake.trees[id] = view);
	},
	createOutputChannel: (name: string) => {
		const write = (text: string) => void fake.lines.push(`${name}: ${text}`);
		return { name, logLevel: LogLevel.Info, trace: () => undefined, debug: write, info: write, warn: write, error: write, show: () => write('shown'), dispose: () => undefined };
	},
};

export const workspace = {
	isTrusted: true,
	workspaceFolders: [] as { uri: Uri; name: string }[],
	textDocuments: [] as unknown[],
	notebookDocuments: [],
	onDidChangeWorkspaceFolders: never,
	onDidChangeConfiguration: fake.configured.event,
	getConfiguration: (section: string) => ({
		get: (name: string, otherwise?: unknown) => fake.settings[`${section}.${name}`] ?? otherwise,
		update: async (name: string, value: unknown) => fake.set(`${section}.${name}`, value),
	}),
};

export const commands = {
	registerCommand: (name: string, run: Handler) => {
		fake.registered[name] = run;
		return never();
	},
	executeCommand: async (name: string, ...args: unknown[]) => {
		if (name === 'setContext') {
			fake.context[String(args[0])] = args[1];
			return undefined;
		}
		fake.executed.push([name, ...args]);
		return fake.registered[name]?.(...args);
	},
};

export const env = { appName: 'Test', appHost: 'desktop', remoteName: undefined, clipboard: { writeText: async (text: string) => void (fake.clipboard = text) } };
export const languages = { createLanguageStatusItem: () => ({ dispose: () => undefined }) };
export const tasks = { registerTaskProvider: never, executeTask: async (task: Task) => fake.tasks.push(task) };
