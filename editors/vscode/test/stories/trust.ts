/** What is not trusted is not touched; and what happens without the program. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Editor } from './editor';
import { inWindow, shop } from './stories';
import { story } from './story';
import type { World } from './world';

export function trustStories(world: World, editor: Editor): void {
	story('an untrusted workspace is left alone until it is trusted', () => untrusted(world, editor));
	story('without the program there is a clear message, and a way on', () => missing(world, editor));
}

async function untrusted(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'careful-shop');
	// A program that the folder brings along is not run before the folder is trusted.
	const ran = join(world.dir, 'strange-ran');
	r.write('tool', `#!/bin/sh\n: >${ran}\nexec ${world.binary} "$@"\n`);
	chmodSync(join(r.path, 'tool'), 0o755);
	r.write('.vscode/settings.json', JSON.stringify({ 'forklift.path': join(r.path, 'tool') }));
	await editor.start();
	await inWindow(editor, r.path, 'untrusted', async (w) => {
		await w.says('untrusted');
		await w.view('Checkpoints');
		await w.welcome('not trusted');
		await w.screenshot('untrusted');
		assert.ok(!r.must('daemon', 'status', '--json').includes(r.path), 'no session has the worktree open');
		assert.ok(!existsSync(ran), 'the program of the folder was not run');
		await w.trust();
		await w.says('before_change');
		assert.ok(existsSync(ran), 'now it is');
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
			await w.welcome('not found on the PATH');
			await w.answer('was not found on the PATH');
			// One that is older than the extension is told from one that is missing.
			writeFileSync(link, '#!/bin/sh\necho \'{"version": "0.0.9"}\'\n', { mode: 0o755 });
			await w.command('Forklift: Restart');
			await w.answer(/is forklift 0\.0\.9, and this extension needs 0\.1\.0 or newer/);
			await w.says('forklift too old');
			await w.welcome('older than this extension needs');
			rmSync(link);
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
