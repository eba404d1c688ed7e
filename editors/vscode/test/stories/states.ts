/** What is shown where there is nothing to show yet. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Editor } from './editor';
import { inWindow } from './stories';
import { story } from './story';
import type { World } from './world';

export function stateStories(world: World, editor: Editor): void {
	story('no folder, no repository, no checkpoint: each has its text and a way on', () => empty(world, editor));
}

async function empty(world: World, editor: Editor): Promise<void> {
	await inWindow(editor, '', 'nothing', async (w) => {
		await w.view('Checkpoints');
		await w.welcome('Open a folder of a git repository');
		await w.status.waitFor({ state: 'hidden' });
	});
	const plain = join(world.dir, 'plain');
	mkdirSync(plain);
	await inWindow(editor, plain, 'plain', async (w) => {
		await w.says('not tracked');
		await w.view('Checkpoints');
		await w.welcome('not in a git repository');
	});
	const r = world.repository('fresh').setUp();
	await inWindow(editor, r.path, 'fresh', async (w) => {
		await w.says('no checkpoint');
		await w.view('Checkpoints');
		await w.welcome('There is no checkpoint yet');
		await w.welcome('no checkpoint to compare with yet');
		await w.page.locator('.welcome-view-content .monaco-button', { hasText: 'Capture Checkpoint' }).click();
		await w.answer('Captured');
		await w.welcome('Nothing changed since the checkpoint');
	});
	r.tearDown();
}
