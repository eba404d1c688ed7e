/** Several worktrees at once: two windows, and two folders in one window. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Editor } from './editor';
import { inWindow, shop } from './stories';
import { story } from './story';
import type { World } from './world';

export function windowStories(world: World, editor: Editor): void {
	story('two windows on two worktrees, and one window on both', () => worktrees(world, editor));
}

async function worktrees(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'left');
	r.must('worktree', 'add', '../right', '--from', 'before_change');
	const right = world.at('right');
	right.sql('INSERT INTO invoices VALUES (99, 99)');
	right.must('capture', 'in_right');
	await inWindow(editor, r.path, 'left', async (a) => {
		await a.says('before_change');
		await inWindow(editor, right.path, 'right', async (b) => {
			await b.says('in_right');
			await b.view('Checkpoints');
			await b.command('Forklift: Capture Checkpoint With a Name');
			await b.type('Forklift: Capture Checkpoint (1 of 2)', 'second');
			await b.type('Forklift: Capture Checkpoint (2 of 2)', '');
			await b.answer('Captured second');
			await b.says('second');
			assert.ok(/before_change/.test((await a.status.innerText()).trim()), 'the other window stays where it is');
			const tree = await a.view('Checkpoints');
			await tree.locator('.monaco-list-row', { hasText: /^right/ }).first().click();
			await tree.locator('.monaco-list-row', { hasText: 'in_right' }).waitFor();
			await a.screenshot('worktrees');
		});
	});
	const file = join(world.dir, 'both.code-workspace');
	writeFileSync(file, JSON.stringify({ folders: [r.path, right.path].map((path) => ({ path })) }));
	await inWindow(editor, file, 'both', async (w) => {
		await w.foldered();
		await w.says('left: before_change');
		await w.command('Forklift: Capture Checkpoint With a Name');
		await w.pick('Forklift: Worktree', 'right');
		await w.type('Forklift: Capture Checkpoint (1 of 2)', 'from_both');
		await w.type('Forklift: Capture Checkpoint (2 of 2)', '');
		await w.answer('Captured from_both');
		// With a file open there is nothing to pick: the worktree is the file's.
		right.write('src/only_right.py', 'right = True\n');
		await w.openFile('only_right.py');
		await w.says('right: from_both · 1 file');
		await w.command('Forklift: Capture Checkpoint');
		await w.answer('Captured');
		await w.says(/right: \S+-right$/);
		assert.ok(right.must('list').includes('from_both'));
		assert.ok(!r.must('list').includes('from_both'));
	});
	right.tearDown();
	r.tearDown();
}
