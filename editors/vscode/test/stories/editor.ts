/** VS Code in a browser: code-server, its windows, and what a user does in them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type Locator, type Page, chromium } from 'playwright-core';
import type { World } from './world';

/** How long a thing that must happen may take; a loaded machine is slow. */
export const PATIENCE = 60_000;

/** How long a key is waited for before it is pressed again, and how often that is done. */
const AGAIN = 5_000;
const TRIES = 4;

/** Whether something comes to be seen before the key is pressed again. */
const appears = (what: Locator): Promise<boolean> => what.first().waitFor({ timeout: AGAIN }).then(
	() => true,
	() => false,
);

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
};

/** A code-server with the extension installed. */
export class Editor {
	private process: ChildProcess | undefined;
	private browser: Browser | undefined;
	private address = '';
	private readonly contexts: BrowserContext[] = [];
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
		const vsix = process.env['FORKLIFT_VSIX'];
		if (!program || !vsix) {
			throw new Error('CODE_SERVER and FORKLIFT_VSIX are not set; test/run.sh sets them');
		}
		mkdirSync(join(this.dir, 'data', 'User'), { recursive: true });
		writeFileSync(join(this.dir, 'data', 'User', 'settings.json'), JSON.stringify(settings));
		writeFileSync(join(this.dir, 'config.yaml'), 'bind-addr: 127.0.0.1:0\nauth: none\ncert: false\n');
		const common = [program, '--config', join(this.dir, 'config.yaml'), '--user-data-dir', join(this.dir, 'data'), '--extensions-dir', join(this.dir, 'extensions')];
		const env = { ...this.world.env, EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":""}' };
		execFileSync(process.execPath, [...common, '--install-extension', vsix], { env, stdio: 'pipe' });
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

	/** Opens a window on a folder or a .code-workspace file, and waits until the extension shows itself. */
	async open(path: string): Promise<Window> {
		if (!this.browser) {
			throw new Error('not started');
		}
		const context = await this.browser.newContext({ viewport: { width: 1200, height: 760 } });
		await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: this.address });
		this.contexts.push(context);
		const page = await context.newPage();
		page.setDefaultTimeout(PATIENCE);
		await page.goto(`${this.address}/?${path.endsWith('.code-workspace') ? 'workspace' : 'folder'}=${encodeURIComponent(path)}`, { waitUntil: 'commit' });
		const w = new Window(page);
		await w.status.waitFor();
		return w;
	}

	/** What the extension wrote to its logs, for a story that failed. */
	logs(): string {
		return execFileSync('sh', ['-c', 'cat "$1"/logs/*/exthost*/forklift.forklift/*.log 2>/dev/null | tail -n 40', 'sh', join(this.dir, 'data')], { encoding: 'utf8' });
	}

	async close(): Promise<void> {
		await Promise.all(this.contexts.map((c) => c.close().catch(() => undefined)));
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

/** One window, by what can be seen and typed in it. */
export class Window {
	readonly status: Locator;
	readonly input: Locator;
	readonly dialog: Locator;

	constructor(readonly page: Page) {
		this.status = page.locator('.statusbar-item[id$="forklift.status"]');
		this.input = page.locator('.quick-input-widget input.input:visible, .quick-input-widget .quick-input-box input:visible').first();
		this.dialog = page.locator('.monaco-dialog-box');
	}

	/** Waits until the status bar item says something. */
	async says(text: string | RegExp): Promise<void> {
		await this.status.filter({ hasText: text }).waitFor();
	}

	/** Chooses a command in the palette; the moment of Enter is returned. */
	async command(title: string): Promise<number> {
		await this.quickInput('F1');
		await this.input.fill(`>${title}`);
		await this.row(title).first().waitFor();
		// Commands that were used lately come first, also those with longer titles.
		const labels = await this.page.locator('.quick-input-list .monaco-list-row .label-name').allInnerTexts();
		const place = labels.findIndex((label) => label.replace(/\u00a0/g, ' ').trim() === title);
		if (place < 0) {
			throw new Error(`the palette has no ${title}, but ${labels.join(', ')}`);
		}
		const at = performance.now();
		await this.page.locator('.quick-input-list .monaco-list-row .label-name').nth(place).click();
		return at;
	}

	/** Opens the box for commands or files by its key, which is lost while the focus moves. */
	private async quickInput(key: string): Promise<void> {
		for (let tries = 1; tries < TRIES; tries++) {
			await this.page.keyboard.press(key);
			if (await appears(this.input)) {
				return;
			}
		}
		await this.page.keyboard.press(key);
		await this.input.waitFor();
	}

	/** The rows of the quick pick that hold a text. */
	row(text: string | RegExp): Locator {
		return this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: text });
	}

	/** Picks a row of the quick pick. */
	async pick(text: string | RegExp): Promise<void> {
		await this.row(text).first().click();
	}

	toast(text: string | RegExp): Locator {
		return this.page.locator('.notification-toast').filter({ hasText: text });
	}

	/** Waits for a message and presses one of its buttons; without one it is put away. */
	async answer(text: string | RegExp, button?: string): Promise<void> {
		const toast = this.toast(text).first();
		await toast.waitFor();
		if (button) {
			await toast.locator('.monaco-button', { hasText: button }).first().click();
		} else {
			await toast.hover();
			await toast.locator('.codicon-notifications-clear').click();
		}
		await toast.waitFor({ state: 'hidden' });
	}

	/** Waits for a modal question, and answers it; its text is returned. */
	async decide(button: string): Promise<string> {
		await this.dialog.waitFor();
		const text = await this.dialog.innerText();
		await this.dialog.locator('.monaco-button', { hasText: button }).first().click();
		await this.dialog.waitFor({ state: 'hidden' });
		return text;
	}

	/** The rows of a view of ours. */
	async view(name: string): Promise<Locator> {
		await this.page.locator('.activitybar .action-item a[aria-label^="Forklift"]').waitFor();
		const pane = this.page.locator('.pane').filter({ has: this.page.locator(`.pane-header[aria-label^="${name}"]`) });
		for (let tries = 0; tries < TRIES && !(await pane.first().isVisible()); tries++) {
			// By force: the badge lies over it, and hands the click on.
			await this.page.locator('.activitybar .action-item a[aria-label^="Forklift"]').click({ force: true });
			await appears(pane);
		}
		await pane.first().waitFor();
		return pane.first();
	}

	/** Opens a file by its name. */
	async openFile(name: string): Promise<void> {
		const label = name.slice(name.lastIndexOf('/') + 1);
		const tab = this.page.locator('.editor-group-container .tab.active', { hasText: label });
		for (let tries = 1; ; tries++) {
			await this.quickInput('Control+p');
			await this.input.fill(name);
			await this.row(label).first().waitFor();
			await this.page.keyboard.press('Enter');
			// An Enter while the list is made anew chooses nothing.
			if (await appears(tab)) {
				return;
			}
			if (tries === TRIES) {
				throw new Error(`${name} was not opened`);
			}
		}
	}

	/** The text of the lines of the active editor that can be seen. */
	async text(): Promise<string> {
		const text = await this.page.locator('.editor-group-container.active .monaco-editor .view-lines').last().innerText();
		return text.replace(/\u00a0/g, ' ');
	}

	/** Puts the cursor on a line of the active editor. */
	async goTo(line: number): Promise<void> {
		await this.page.keyboard.press('Control+g');
		await this.input.waitFor();
		await this.input.fill(`:${line}`);
		await this.page.keyboard.press('Enter');
		await this.input.waitFor({ state: 'hidden' });
	}

	/** The line of the cursor, as the status bar tells it. */
	async position(): Promise<number> {
		return Number(/Ln (\d+)/.exec(await this.page.locator('.statusbar-item[id="status.editor.selection"]').innerText())?.[1]);
	}

	/** Types into the input box that is asked for. */
	async type(text: string): Promise<void> {
		await this.input.waitFor();
		await this.input.fill(text);
		await this.page.keyboard.press('Enter');
		await this.page.waitForTimeout(150); // the next box takes this one's place
	}

	async clipboard(): Promise<string> {
		return this.page.evaluate(() => (globalThis as unknown as { navigator: { clipboard: { readText(): Promise<string> } } }).navigator.clipboard.readText());
	}

	/** Waits until something outside of the window is so. */
	async until(is: () => boolean, what: string): Promise<void> {
		for (const end = performance.now() + PATIENCE; !is(); ) {
			if (performance.now() > end) {
				throw new Error(`waited for: ${what}`);
			}
			await this.page.waitForTimeout(100);
		}
	}

	/** How long the activation took, as the editor itself measured it. */
	async activation(): Promise<string> {
		await this.command('Developer: Show Running Extensions');
		const row = this.page.locator('.monaco-list-row', { hasText: 'Forklift' }).filter({ hasText: 'Activation:' });
		const text = await row.innerText();
		await this.page.keyboard.press('Escape');
		return /Activation: (\d+ms)/.exec(text)?.[1] ?? text;
	}

	async close(): Promise<void> {
		await this.page.close();
	}

	async screenshot(name: string): Promise<void> {
		const dir = process.env['SCREENSHOTS'];
		if (dir) {
			mkdirSync(dir, { recursive: true });
			await this.page.screenshot({ path: join(dir, `${name}.png`) });
		}
	}
}
