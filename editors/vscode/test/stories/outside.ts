/** What happens outside of the window is seen in it, and what it knows is told to other extensions. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Editor } from './editor';
import { inWindow, shop } from './stories';
import { story } from './story';
import type { World } from './world';

export function outsideStories(world: World, editor: Editor): void {
	story('captures and restores of the command line are seen at once, by open editors and other extensions too', () => commandLine(world, editor));
	story('by keyboard alone, with a screen reader and in high contrast', () => keyboard(world, editor));
}

async function commandLine(world: World, editor: Editor): Promise<void> {
	const go = join(world.dir, 'go');
	writeFileSync(go, '');
	const hooks = { stop: ['sh', '-c', 'until [ -e ../go ]; do sleep 0.1; done'], timeout_seconds: 300 };
	const r = shop(world, 'outside', { hooks });
	/** The last that the other extension was told. */
	const told = () => {
		const file = join(world.dir, 'outside.json');
		return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { apiVersion: number; state: { phase: string; worktrees: { tracked: boolean; checkpoint?: { name: string }; files?: number; rows?: number; operation?: string }[] } }) : undefined;
	};
	await inWindow(editor, r.path, 'outside', async (w) => {
		await w.says('before_change');
		await w.openFile('app.py');
		await w.goTo(40);

		// The hook holds the capture until the file is there again.
		rmSync(go);
		const capture = r.begin('capture', 'from_outside');
		await w.says(/^\s*capture/);
		await w.status.locator('.codicon-sync.codicon-modifier-spin').waitFor();
		await w.until(() => told()?.state.worktrees[0]?.operation === 'capture', 'the other extension is told of the operation');
		writeFileSync(go, '');
		assert.equal(await capture, 0);
		const ended = performance.now();
		await w.says('from_outside');
		console.log(`figure: end of a capture on the command line to the status bar: ${Math.round(performance.now() - ended)} ms`);

		r.write('src/app.py', r.read('src/app.py').replace('line_38 = 38', 'line_38 = "changed"'));
		r.sql('INSERT INTO invoices VALUES (99, 99)');
		await w.says('from_outside · 1 file · 1 row');
		await w.page.locator('.view-line', { hasText: 'line_38 = "changed"' }).waitFor();
		await w.until(() => told()?.state.worktrees[0]?.rows === 1, 'the other extension is told of the row');
		const now = told();
		assert.deepEqual([now?.apiVersion, now?.state.phase, now?.state.worktrees[0]?.tracked, now?.state.worktrees[0]?.checkpoint?.name, now?.state.worktrees[0]?.files], [1, 'running', true, 'from_outside', 1]);
		await w.page.locator('.statusbar-item[id="status.languageStatus"]').hover();
		await w.page.locator('.hover-language-status', { hasText: 'Changed since from_outside' }).waitFor();

		r.must('restore', 'from_outside');
		await w.page.locator('.view-line', { hasText: 'line_38 = 38' }).waitFor();
		await w.at(40); // the editor keeps its place
		await w.page.locator('.tab.active:not(.dirty)[aria-label="app.py"]').waitFor();
		await w.says(/from_outside$/);

		r.must('daemon', 'stop');
		await w.command('Forklift: Capture Checkpoint With a Name');
		await w.type('Forklift: Capture Checkpoint (1 of 2)', 'after_daemon');
		await w.type('Forklift: Capture Checkpoint (2 of 2)', '');
		await w.answer('Captured after_daemon');
		await w.says('after_daemon');
	});
	r.tearDown();
}

async function keyboard(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'keys');
	r.write('.vscode/settings.json', JSON.stringify({ 'workbench.colorTheme': 'Default High Contrast', 'editor.accessibilitySupport': 'on' }));
	r.write('src/app.py', 'changed = True\n');
	await inWindow(editor, r.path, 'keys', async (w) => {
		await w.says('before_change · 1 file');
		await w.status.locator('[aria-label="Forklift: before_change · 1 file"][role="button"]').waitFor();
		await w.page.locator('.activitybar .action-item a[aria-label^="Forklift"][aria-label*="1 file since before_change"]').waitFor();
		await w.key('F1', 'Forklift: Focus on Checkpoints View');
		const tree = await w.view('Checkpoints');
		await tree.locator('.monaco-list:focus-within, .monaco-list:focus').waitFor();
		await tree.locator('.monaco-list-row[aria-label^="Checkpoint before_change, "]').waitFor();
		await w.page.keyboard.press('ArrowDown');
		await tree.locator('.monaco-list-row.focused[aria-label^="Checkpoint before_change, "][aria-label*="the worktree rests on it"]').waitFor();
		await w.page.keyboard.press('Shift+F10');
		await w.page.locator('.monaco-menu .action-item', { hasText: 'Restore Checkpoint' }).waitFor();
		await w.page.keyboard.press('ArrowDown');
		await w.page.locator('.monaco-menu .action-item.focused', { hasText: 'Restore Checkpoint' }).waitFor();
		await w.page.keyboard.press('Enter');
		await w.dialog('Restore before_change in keys?').locator('.monaco-button:focus', { hasText: 'Restore' }).waitFor();
		await w.screenshot('contrast');
		await w.page.keyboard.press('Enter');
		await w.toast('Restored before_change').waitFor();
		assert.ok(r.read('src/app.py').startsWith('line_1 = 1'));
		await tree.locator('.monaco-list:focus-within, .monaco-list:focus').waitFor(); // the question gave the focus back
		await w.key('F1', 'Forklift: Undo Last Restore');
		await w.toast('Undone').waitFor();
		assert.equal(r.read('src/app.py'), 'changed = True\n');
		await w.status.hover();
		await w.page.locator('.workbench-hover', { hasText: 'Worktree keys' }).getByRole('link', { name: 'Capture' }).waitFor();
	});
	r.tearDown();
}
