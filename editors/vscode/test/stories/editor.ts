/** VS Code in a browser: code-server, with the extension, and the browser that shows its windows. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { PATIENCE, Window } from './window';
import type { World } from './world';

/**
 * How the editor is set for the stories. What is not the usual keeps apart
 * what a user tells apart by looking: the palette has no commands that were
 * used lately above those that were asked for, a list of files none of the last
 * time, and a box stays open when an editor that was slow to open takes the
 * focus. Suggestions would complete what is typed.
 */
const settings = {
	'telemetry.telemetryLevel': 'off',
	'update.mode': 'none',
	'extensions.autoUpdate': false,
	'extensions.autoCheckUpdates': false,
	'workbench.startupEditor': 'none',
	'workbench.secondarySideBar.defaultVisibility': 'hidden',
	'workbench.tips.enabled': false,
	'chat.disableAIFeatures': true,
	'security.workspace.trust.startupPrompt': 'never',
	'security.workspace.trust.banner': 'never',
	'git.openRepositoryInParentFolders': 'never',
	'git.autofetch': false,
	'window.title': '${rootName}',
	'window.dialogStyle': 'custom',
	'editor.minimap.enabled': false,
	'workbench.colorTheme': 'Default Light Modern',
	'files.autoSave': 'off',
	'terminal.integrated.gpuAcceleration': 'off',
	'workbench.commandPalette.history': 0,
	'workbench.quickOpen.closeOnFocusLost': false,
	'search.quickOpen.includeHistory': false,
	'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
	'editor.occurrencesHighlight': 'off',
	'workbench.reduceMotion': 'on',
};

/** A code-server with the extension installed. */
export class Editor {
	private process: ChildProcess | undefined;
	private browser: Browser | undefined;
	private address = '';
	private readonly windows = new Set<Window>();
	private readonly dir: string;

	constructor(
		private readonly world: World,
		name: string,
		private readonly trust: boolean,
	) {
		this.dir = join(world.dir, name);
	}

	async start(): Promise<void> {
		const program = process.env['CODE_SERVER'];
		const packages = process.env['FORKLIFT_VSIX'];
		if (!program || !packages) {
			throw new Error('CODE_SERVER and FORKLIFT_VSIX are not set; test/run.sh sets them');
		}
		mkdirSync(join(this.dir, 'data', 'User'), { recursive: true });
		writeFileSync(join(this.dir, 'data', 'User', 'settings.json'), JSON.stringify(settings));
		writeFileSync(join(this.dir, 'config.yaml'), 'bind-addr: 127.0.0.1:0\nauth: none\ncert: false\n');
		const common = [program, '--config', join(this.dir, 'config.yaml'), '--user-data-dir', join(this.dir, 'data'), '--extensions-dir', join(this.dir, 'extensions')];
		const env = { ...this.world.env, EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":""}' };
		for (const vsix of packages.split(' ')) {
			execFileSync(process.execPath, [...common, '--install-extension', vsix], { env, stdio: 'pipe' });
		}
		const flags = ['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override', ...(this.trust ? [] : ['--disable-workspace-trust'])];
		const child = spawn(process.execPath, [...common, ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
		this.process = child;
		this.address = await new Promise<string>((resolve, reject) => {
			let text = '';
			const read = (data: Buffer) => {
				text += data.toString();
				const m = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(text);
				if (m?.[1]) {
					resolve(m[1]);
				}
			};
			child.stdout.on('data', read);
			child.stderr.on('data', read);
			child.on('exit', (code) => reject(new Error(`code-server ended with ${code}: ${text}`)));
			setTimeout(() => reject(new Error(`code-server does not listen: ${text}`)), PATIENCE).unref();
		});
		this.browser = await chromium.launch({
			executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
			args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
		});
	}

	/** Opens a window on a folder or a .code-workspace file, or an empty one, and waits until it is ready. */
	async open(path: string): Promise<Window> {
		if (!this.browser) {
			throw new Error('not started');
		}
		const context = await this.browser.newContext({ viewport: { width: 1200, height: 760 }, reducedMotion: 'reduce' });
		await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: this.address });
		const page = await context.newPage();
		page.setDefaultTimeout(PATIENCE);
		const w = new Window(page, () => this.windows.delete(w));
		this.windows.add(w);
		const query = path ? `?${path.endsWith('.code-workspace') ? 'workspace' : 'folder'}=${encodeURIComponent(path)}` : '?ew=true';
		await page.goto(`${this.address}/${query}`, { waitUntil: 'commit' });
		await w.settled();
		return w;
	}

	/** What the extension wrote last in any window, for a story that failed. */
	logs(): string {
		return this.output('Forklift').trimEnd().split('\n').slice(-40).join('\n');
	}

	/** What is in an output channel of the extension, in the window that wrote there last. */
	output(channel: string): string {
		const logs = join(this.dir, 'data', 'logs');
		const written = existsSync(logs) ? readdirSync(logs, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(join('forklift.forklift', `${channel}.log`))) : [];
		const [newest] = written.map((name) => join(logs, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
		return newest ? readFileSync(newest, 'utf8') : '';
	}

	async close(): Promise<void> {
		await Promise.all([...this.windows].map((w) => w.close().catch(() => undefined)));
		await this.browser?.close();
		const child = this.process;
		if (child && child.exitCode === null) {
			const ended = new Promise((resolve) => child.on('exit', resolve));
			child.kill('SIGTERM');
			setTimeout(() => child.kill('SIGKILL'), 5000).unref();
			await ended;
		}
	}
}
