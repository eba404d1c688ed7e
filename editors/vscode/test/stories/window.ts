/**
 * One window of VS Code, by what can be seen and typed in it.
 *
 * Nothing is pressed twice. A key or a click goes to what is there in that
 * moment, so before each one the window is waited for to be in the state that
 * it is meant for: the box has the focus, the list is that of the typed text,
 * the row that Enter takes is the one that is meant, the editor has the cursor.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';

/** How long a thing that must happen may take, in milliseconds; a loaded machine is slow. */
export const PATIENCE = 120_000;

/** A text as a pattern for the whole of another. */
const whole = (text: string): RegExp => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);

export class Window {
	readonly status: Locator;
	readonly input: Locator;

	constructor(
		readonly page: Page,
		private readonly closed: () => void = () => undefined,
	) {
		this.status = page.locator('.statusbar-item[id$="forklift.status"]');
		this.input = page.locator('.quick-input-widget input.input:visible, .quick-input-widget .quick-input-box input:visible').first();
	}

	/**
	 * Waits until the workbench has restored all that it shows, has made its
	 * late parts too, and knows what extensions contribute. Before that it moves
	 * the focus by itself, and has no commands of ours.
	 */
	async settled(): Promise<void> {
		await this.page.waitForFunction(() => ['code/LifecyclePhase/Eventually', 'code/didHandleExtensionPoints'].every((name) => performance.getEntriesByName(name).length > 0));
		await this.page.locator('.monaco-workbench').waitFor();
	}

	/**
	 * Waits until the folders of a .code-workspace file are there. The editor
	 * reads the file while it connects, and keeps what it read; but when that
	 * comes before the window has a workspace, the window stays without folders
	 * until it is loaded again, as a user would do.
	 */
	async foldered(): Promise<void> {
		const none = this.page.locator('.pane', { hasText: 'No Folder Opened' });
		for (const end = performance.now() + PATIENCE; ; ) {
			await none.or(this.page.locator('.explorer-folders-view .monaco-list-row')).first().waitFor();
			if (!(await none.isVisible())) {
				return;
			}
			if (performance.now() > end) {
				throw new Error('the window stays without the folders of its workspace');
			}
			console.log('the editor missed the folders of its workspace: the window is loaded again');
			await this.page.reload({ waitUntil: 'commit' });
			await this.settled();
		}
	}

	/** Waits until the status bar item says something. */
	async says(text: string | RegExp): Promise<void> {
		await this.status.filter({ hasText: text }).waitFor();
	}

	/** Clicks on the status bar item while it says something. */
	async clickStatus(text: string | RegExp): Promise<void> {
		await this.status.filter({ hasText: text }).locator('a').first().click();
	}

	/** Trusts the workspace, by the way of the status bar item. */
	async trust(): Promise<void> {
		await this.clickStatus('untrusted');
		await this.page.locator('.workspace-trust-editor .monaco-button', { hasText: whole('Trust') }).first().click();
		await this.page.locator('.workspace-trust-editor', { hasText: 'You trust' }).waitFor();
		// It lies over the window, and takes the next click.
		await this.page.locator('.monaco-modal-editor-block [aria-label^="Close"]').last().click();
		await this.page.locator('.workspace-trust-editor').waitFor({ state: 'hidden' });
	}

	/**
	 * Opens the box for commands or files by its key. What was left before, such
	 * as a question, may give the focus back late and so take it from the box:
	 * what is typed goes to the box itself, as if its field were clicked on.
	 */
	private async box(key: string): Promise<void> {
		await this.page.keyboard.press(key);
		await this.input.waitFor();
	}

	/** Waits until Enter would take a row, by the beginning of what it is called. */
	private async focused(label: string | RegExp): Promise<void> {
		await this.page.locator('.quick-input-list .monaco-list-row.focused').filter({ has: this.page.locator('.label-name', { hasText: label }) }).waitFor();
	}

	/** Chooses a command in the palette; the moment of the click is returned. */
	async command(title: string): Promise<number> {
		await this.box('F1');
		await this.input.fill(`>${title}`);
		// Without commands used lately the row is only there once the list is that of the text.
		const row = this.named(title);
		await row.waitFor();
		const at = performance.now();
		await row.click();
		return at;
	}

	/** Opens a box by its key, and takes one of its commands by Enter: no mouse. */
	async key(key: string, title: string): Promise<void> {
		await this.box(key);
		await this.input.fill(`>${title}`);
		await this.focused(whole(title));
		await this.input.press('Enter');
		await this.input.waitFor({ state: 'hidden' });
	}

	/** Waits until a view that has no rows says something. */
	async welcome(text: string): Promise<void> {
		await this.page.locator('.welcome-view-content', { hasText: text }).first().waitFor();
	}

	/** Whether the palette has a command now. */
	async offers(title: string): Promise<boolean> {
		await this.box('F1');
		await this.input.fill(`>${title}`);
		const found = this.named(title);
		// Where nothing has such a name, it says so or offers what is similar.
		await found.or(this.row(/No matching commands|similar commands/)).first().waitFor();
		const offered = (await found.count()) > 0;
		await this.escape();
		return offered;
	}

	/** The row of a box that is called just so. */
	private named(label: string): Locator {
		return this.page.locator('.quick-input-list .monaco-list-row').filter({ has: this.page.locator('.label-name', { hasText: whole(label) }) });
	}

	/** Closes the box. */
	async escape(): Promise<void> {
		await this.input.press('Escape');
		await this.input.waitFor({ state: 'hidden' });
	}

	/** The rows of the quick pick that hold a text. */
	row(text: string | RegExp): Locator {
		return this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: text });
	}

	/** The title of a box. */
	title(text: string): Locator {
		return this.page.locator('.quick-input-title', { hasText: whole(text) });
	}

	/** Picks a row of the quick pick with a title. */
	async pick(title: string, text: string | RegExp): Promise<void> {
		await this.title(title).waitFor();
		await this.row(text).first().click();
		await this.title(title).waitFor({ state: 'hidden' });
	}

	/** Types into the input box with a title. */
	async type(title: string, text: string): Promise<void> {
		await this.title(title).waitFor();
		await this.input.fill(text);
		await this.input.press('Enter');
		await this.title(title).waitFor({ state: 'hidden' });
	}

	/** The messages in the corner that hold a text; those that the editor has put away are in its list. */
	toast(text: string | RegExp): Locator {
		return this.page.locator('.notification-toast').filter({ hasText: text });
	}

	/** Waits for a message, and keeps it there: under the pointer it does not go by itself. */
	async told(text: string | RegExp): Promise<Locator> {
		const toast = this.toast(text);
		await toast.waitFor();
		await toast.hover();
		return toast;
	}

	/** Waits for a message and presses one of its buttons; without one it is put away. */
	async answer(text: string | RegExp, button?: string): Promise<void> {
		const toast = await this.told(text);
		await (button ? toast.locator('.monaco-button', { hasText: button }) : toast.locator('.codicon-notifications-clear')).first().click();
		await toast.waitFor({ state: 'hidden' });
	}

	/** The modal question that holds a text. */
	dialog(text: string | RegExp): Locator {
		return this.page.locator('.monaco-dialog-box').filter({ hasText: text });
	}

	/** Waits for a modal question, and answers it; its whole text is returned. */
	async decide(question: string | RegExp, button: string): Promise<string> {
		const dialog = this.dialog(question);
		await dialog.waitFor();
		const text = await dialog.innerText();
		await dialog.locator('.monaco-button', { hasText: whole(button) }).click();
		await dialog.waitFor({ state: 'hidden' });
		return text;
	}

	/** A view of ours, which is opened by its icon when its container is not. */
	async view(name: string): Promise<Locator> {
		const icon = this.page.locator('.activitybar .action-item').filter({ has: this.page.locator('a[aria-label^="Forklift"]') });
		await icon.waitFor();
		if (!(await icon.evaluate((e) => e.classList.contains('checked')))) {
			await icon.click(); // all of it: a badge may lie over its picture
		}
		const pane = this.page.locator('.pane').filter({ has: this.page.locator(`.pane-header[aria-label^="${name}"]`) });
		await pane.waitFor();
		return pane;
	}

	/** Opens a file by its name, and waits until its editor has the cursor. */
	async openFile(name: string): Promise<void> {
		await this.box('Control+p');
		await this.input.fill(name);
		await this.focused(name);
		await this.input.press('Enter');
		await this.page.locator(`.editor-group-container.active .tab.active[aria-label="${name}"]`).waitFor();
		await this.editing();
	}

	/** The text editor that has the cursor; it is waited for. */
	private async editing(): Promise<void> {
		await this.page.locator('.editor-group-container.active .monaco-editor.focused .view-line').first().waitFor();
	}

	/** Types into the active text editor, at the cursor. */
	async write(text: string): Promise<void> {
		await this.page.keyboard.press('Control+1'); // the first group of editors takes the focus
		await this.editing();
		await this.page.keyboard.type(text);
	}

	/** Puts the cursor on a line of the active editor. */
	async goTo(line: number): Promise<void> {
		await this.box('Control+g');
		await this.input.fill(`:${line}`);
		await this.focused(`Go to line ${line}`);
		await this.input.press('Enter');
		await this.input.waitFor({ state: 'hidden' });
		await this.at(line);
		await this.editing();
	}

	/** Waits until the status bar says that the cursor is on a line. */
	async at(line: number): Promise<void> {
		await this.page.locator('.statusbar-item[id="status.editor.selection"]', { hasText: `Ln ${line},` }).waitFor();
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
		// The slowest come first, and only the rows that fit are there.
		await this.page.locator('.runtime-extensions-editor .monaco-list-row').first().hover();
		for (const end = performance.now() + PATIENCE; performance.now() < end && !(await row.isVisible()); ) {
			await this.page.mouse.wheel(0, 50);
		}
		const text = await row.innerText();
		return /Activation: (\d+ms)/.exec(text)?.[1] ?? text;
	}

	/** What has the focus, and what lies over the editor; for a story that failed. */
	async looks(): Promise<string> {
		const texts = async (selector: string) => (await this.page.locator(selector).filter({ visible: true }).allInnerTexts()).map((text) => text.trim());
		const focus = await this.page.evaluate('document.activeElement && document.activeElement.tagName + "." + document.activeElement.className');
		return JSON.stringify({ focus, status: await texts('.statusbar-item[id$="forklift.status"]'), box: await texts('.quick-input-widget'), dialogs: await texts('.monaco-dialog-box'), messages: await texts('.notification-toast') });
	}

	/**
	 * Leaves the window as a user does who closes it, which ends its extensions
	 * and their sessions; a page that is just closed leaves them to be come back to.
	 */
	async close(): Promise<void> {
		this.closed();
		this.page.on('dialog', (d) => void d.accept().catch(() => undefined)); // the question about unsaved files
		await this.page.goto('about:blank').catch(() => undefined);
		await this.page.context().close();
	}

	/** Keeps a picture in the directory SCREENSHOTS, if it is set; its path is returned. */
	async screenshot(name: string): Promise<string> {
		const dir = process.env['SCREENSHOTS'];
		if (!dir) {
			return 'none: SCREENSHOTS is not set';
		}
		mkdirSync(dir, { recursive: true });
		const path = join(dir, `${name}.png`);
		await this.page.screenshot({ path });
		return path;
	}
}
