/** What is not trusted is not touched; and what happens without the program. */
import assert from 'node:assert/strict';
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Editor } from './editor';
import { inWindow, shop } from './stories';
import type { World } from './world';

export function trustStories(world: World, editor: Editor): void {
	test('an untrusted workspace is left alone until it is trusted', () => untrusted(world, editor));
	test('without the program there is a clear message, and a way on', () => missing(world, editor));
}

async function untrusted(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'careful-shop');
	await editor.start();
	await inWindow(editor, r.path, 'untrusted', async (w) => {
		await w.says('untrusted');
		await w.view('Checkpoints');
		await w.page.locator('.welcome-view-content', { hasText: 'not trusted' }).first().waitFor();
		await w.screenshot('untrusted');
		assert.ok(!r.must('daemon', 'status', '--json').includes(r.path), 'no session has the worktree open');
		await w.trust();
		await w.says('before_change');
	});
	r.tearDown();
}

async function missing(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'missing');
	const link = join(world.dir, 'bin', 'forklift');
	rmSync(link);
	try {
		await inWindow(editor, r.path, 'missing', async (w) => {
			await w.trust();
			await w.says('forklift not found');
			await w.toast('was not found on the PATH').waitFor();
			await w.view('Checkpoints');
			await w.page.locator('.welcome-view-content', { hasText: 'not found on the PATH' }).first().waitFor();
			symlinkSync(world.binary, link);
			await w.command('Forklift: Restart');
			await w.says('before_change');
		});
	} finally {
		rmSync(link, { force: true });
		symlinkSync(world.binary, link);
		r.tearDown();
	}
}
