/** One window: set up, capture, change, restore, undo, recover, and what is refused. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Editor } from './editor';
import { remember, story } from './story';
import type { Window } from './window';
import type { Repository, World } from './world';

/** Runs a story with a window on a repository, and shows the window when it fails. */
export async function inWindow(editor: Editor, path: string, name: string, run: (w: Window) => Promise<void>): Promise<void> {
	const w = await editor.open(path);
	try {
		await run(w);
	} catch (e) {
		const picture = await w.screenshot(`failed-${name}`).catch(String);
		const looks = await w.looks().catch(String);
		const log = editor.logs();
		console.log(`${name}: ${looks}\n${log}`);
		remember(e, [`picture: ${picture}`, `window: ${looks}`, ...log.trimEnd().split('\n').slice(-3)]);
		throw e;
	} finally {
		await w.close();
	}
}

/** A worktree with a table and a first checkpoint. */
export function shop(world: World, name: string, config: object = {}): Repository {
	const r = world.repository(name, config).setUp();
	if ('hooks' in config) {
		r.must('trust');
	}
	r.sql('CREATE TABLE invoices (id int PRIMARY KEY, total int)');
	r.sql('INSERT INTO invoices SELECT i, i FROM generate_series(1, 10) i');
	r.must('db', 'start');
	r.must('capture', 'before_change', '-m', 'all invoices are right');
	return r;
}

export function stories(world: World, editor: Editor): void {
	story('set up, capture from the palette, change, restore from the view, undo and redo', () => there_and_back(world, editor));
	story('unsaved changes are refused until they are settled', () => unsaved(world, editor));
	story('a restore that was killed is recovered from the status bar', () => killed(world, editor));
	story('files are compared and put back one by one', () => oneFile(world, editor));
	story('commands, database shell, URL and diagnostics', () => tools(world, editor));
}

async function there_and_back(world: World, editor: Editor): Promise<void> {
	const r = world.repository('shop');
	await inWindow(editor, r.path, 'there', async (w) => {
		await w.says('not tracked');
		await w.view('Checkpoints');
		await w.welcome('no database of its own');
		await w.screenshot('welcome');
		await w.command('Forklift: Set Up Worktree');
		await w.says('no checkpoint');
		r.sql('CREATE TABLE invoices (id int PRIMARY KEY, total int)');
		r.must('db', 'start');

		await w.command('Forklift: Capture Checkpoint With a Name');
		await w.type('Forklift: Capture Checkpoint (1 of 2)', 'before_change');
		await w.type('Forklift: Capture Checkpoint (2 of 2)', 'all invoices are right');
		await w.answer('Captured before_change');
		await w.says(/before_change$/);

		const entered = await w.command('Forklift: Capture Checkpoint');
		await w.toast('Captured').waitFor();
		console.log(`figure: palette Enter to "Captured": ${Math.round(performance.now() - entered)} ms`);
		await w.answer('Captured');
		r.must('restore', 'before_change');
		await w.says(/before_change$/);

		await w.openFile('app.py');
		r.write('src/app.py', r.read('src/app.py').replace('line_38 = 38', 'line_38 = "changed"'));
		r.write('src/new.py', 'new = True\n');
		r.sql('INSERT INTO invoices SELECT i, i FROM generate_series(1, 124) i; CREATE VIEW totals AS SELECT sum(total) FROM invoices');
		await w.says('before_change · 2 files · 124 rows');
		const changes = await w.view('Changes Since');
		await changes.locator('.monaco-list-row', { hasText: 'invoices' }).filter({ hasText: '+124' }).waitFor();
		await changes.locator('.monaco-list-row', { hasText: 'public.totals' }).filter({ hasText: 'view · created' }).waitFor();
		await changes.locator('.monaco-list-row', { hasText: 'app.py' }).click();
		await w.page.locator('.monaco-diff-editor').waitFor();
		await w.page.locator('.tab.active', { hasText: 'before_change ↔ now' }).waitFor();
		await w.page.locator('.monaco-diff-editor .view-line', { hasText: 'line_38 = "changed"' }).first().waitFor();
		await w.screenshot('changes');
		await w.command('View: Close Editor');
		await w.page.locator('.monaco-diff-editor').waitFor({ state: 'hidden' });
		await w.goTo(40);

		const row = (await w.view('Checkpoints')).locator('.monaco-list-row', { hasText: 'before_change' });
		await row.hover();
		await row.locator('.action-label[aria-label^="Restore Checkpoint"]').click();
		await w.dialog('Restore before_change in shop?').waitFor();
		await w.screenshot('restore');
		const question = await w.decide('Restore before_change in shop?', 'Restore');
		for (const named of ['src/app.py', 'src/new.py', 'public.invoices  −124', 'view public.totals  dropped', 'Undo Last Restore']) {
			assert.ok(question.includes(named), `the question names ${named}: ${question}`);
		}
		await w.told('Restored before_change');
		assert.ok(r.read('src/app.py').includes('line_38 = 38'), 'the file is back');
		assert.equal(r.count('invoices'), 0, 'the rows are back');
		await w.page.locator('.view-line', { hasText: 'line_38 = 38' }).first().waitFor();
		await w.at(40); // the editor keeps its place

		await w.answer('Restored before_change', 'Undo');
		await w.told('Undone');
		assert.ok(r.read('src/app.py').includes('"changed"'));
		assert.equal(r.count('invoices'), 124);
		await w.page.locator('.view-line', { hasText: '"changed"' }).first().waitFor();
		await w.answer('Undone');
		await w.command('Forklift: Redo');
		await w.answer('Redone');
		assert.ok(r.read('src/app.py').includes('line_38 = 38'));
		assert.equal(r.count('invoices'), 0);
		console.log(`figure: activation: ${await w.activation()}`);
	});
	r.tearDown();
}

async function unsaved(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'unsaved');
	const before = r.read('src/app.py');
	await inWindow(editor, r.path, 'unsaved', async (w) => {
		await w.says('before_change');
		r.sql('INSERT INTO invoices VALUES (99, 99); CREATE VIEW totals AS SELECT sum(total) FROM invoices');
		await w.openFile('app.py');
		await w.goTo(1);
		await w.write('typed = 1 ');
		await w.page.locator('.tab.active.dirty').waitFor();

		await w.command('Forklift: Restore Checkpoint');
		await w.row('before_change').filter({ hasText: '≠ no file · 1 row · 1 definition differ from now' }).waitFor();
		await w.pick('Forklift: Restore Checkpoint', 'before_change');
		const text = await w.decide('unsaved changes', 'Cancel');
		assert.ok(text.includes('src/app.py has unsaved changes'), text);
		assert.equal(r.count('invoices'), 11, 'nothing was restored');
		assert.equal(r.forklift(['capture']).code, 10, 'the command line refuses, too');

		await w.command('Forklift: Capture Checkpoint');
		await w.decide('unsaved changes', 'Save All and Capture');
		await w.answer('Captured');
		assert.ok(r.read('src/app.py').startsWith('typed = 1'));

		await w.page.locator('.tab.active:not(.dirty)').waitFor();
		await w.write('again ');
		await w.page.locator('.tab.active.dirty').waitFor();
		await w.command('Forklift: Restore Checkpoint');
		await w.pick('Forklift: Restore Checkpoint', 'before_change');
		await w.decide('unsaved changes', 'Discard and Restore');
		await w.decide('Restore before_change in unsaved?', 'Restore');
		await w.answer('Restored before_change');
		assert.equal(r.read('src/app.py'), before);
		assert.equal(r.count('invoices'), 10);
		await w.page.locator('.tab.active:not(.dirty)').waitFor();
		await w.page.locator('.view-line', { hasText: 'typed' }).waitFor({ state: 'detached' });
	});
	r.tearDown();
}

async function killed(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'killed');
	r.sql('INSERT INTO invoices VALUES (99, 99)');
	r.write('src/app.py', 'changed = True\n');
	await inWindow(editor, r.path, 'killed', async (w) => {
		await w.says('before_change · 1 file · 1 row');
		const end = r.forklift(['restore', 'before_change'], { FORKLIFT_FAILPOINT_KILL: 'current.json' });
		assert.equal(end.signal, 'SIGKILL', end.stderr);
		await w.says('restore interrupted');
		await w.page.locator('.statusbar-item.error-kind[id$="forklift.status"]').waitFor();
		await w.screenshot('interrupted');
		assert.equal(r.forklift(['capture']).code, 6, 'nothing else is done meanwhile');
		assert.equal(await w.offers('Forklift: Capture Checkpoint'), false, 'nor offered');
		await w.clickStatus('restore interrupted');
		await w.decide('was interrupted', 'Recover');
		await w.answer('Recovered');
		await w.says('before_change');
		assert.equal(await w.offers('Forklift: Recover'), false, 'there is nothing to recover any more');
		const back = r.read('src/app.py').startsWith('changed');
		assert.equal(r.count('invoices'), back ? 11 : 10, 'both halves are of the same moment');
	});
	r.tearDown();
}

async function oneFile(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'one');
	const before = r.read('src/app.py');
	r.write('src/app.py', before.replace('line_30 = 30', 'line_30 = "changed"'));
	r.write('src/invoice.sql', 'SELECT 1;\n');
	r.write('.vscode/settings.json', JSON.stringify({ 'forklift.trace.server': 'messages' }));
	await inWindow(editor, r.path, 'one', async (w) => {
		await w.says('2 files');
		await w.openFile('app.py');
		await w.command('Forklift: Compare File With Checkpoint');
		await w.pick('Forklift: Compare src/app.py With', 'before_change');
		await w.page.locator('.tab.active', { hasText: 'before_change ↔ now' }).waitFor();
		await w.command('Forklift: Compare Worktree With Checkpoint');
		await w.pick('Forklift: Compare Worktree With', 'before_change');
		await w.page.locator('.tab.active', { hasText: 'Changes since before_change (2 files)' }).waitFor();
		await w.page.locator('.multiDiffEntry .view-line', { hasText: 'line_30 = "changed"' }).first().waitFor();
		await w.screenshot('compare');
		await w.openFile('app.py');
		await w.command('Forklift: Restore This File');
		await w.pick('Forklift: Restore src/app.py From', 'before_change');
		const question = await w.decide('Restore src/app.py from before_change?', 'Restore');
		assert.ok(question.includes('src/app.py') && !question.includes('invoice.sql') && !question.includes('database'), question);
		await w.answer('Restored before_change');
		assert.equal(r.read('src/app.py'), before);
		assert.equal(r.read('src/invoice.sql'), 'SELECT 1;\n', 'the other file stays');
		await w.says('1 file');
		await w.until(() => editor.output('Forklift Trace').includes('forklift/file'), 'the talk with the program is written');
	});
	r.tearDown();
}

async function tools(world: World, editor: Editor): Promise<void> {
	const r = shop(world, 'tools');
	await inWindow(editor, r.path, 'tools', async (w) => {
		await w.says('before_change');
		await w.command('Forklift: Run Command');
		await w.pick('Forklift: Run in tools', 'count');
		const shown = await w.decide('Approve what .forklift.json would run?', 'Approve');
		assert.ok(shown.includes('ls src | wc -l | tee counted.txt'), shown);
		await w.until(() => existsSync(join(r.path, 'counted.txt')) && r.read('counted.txt').trim() === '2', 'the command has run');
		await w.screenshot('terminal');
		await w.command('Forklift: Open Database Shell');
		const shell = w.page.locator('.terminal-wrapper.active .xterm-rows');
		await shell.filter({ hasText: /=[>#]/ }).waitFor();
		await w.page.locator('.terminal-wrapper.active .xterm-helper-textarea:focus').waitFor({ state: 'attached' });
		await w.page.keyboard.type("SELECT 'rows: ' || count(*) FROM invoices;\n");
		await shell.filter({ hasText: 'rows: 10' }).waitFor();
		await w.page.keyboard.type('\\q\n');
		await w.command('Forklift: Copy Database URL');
		await w.page.locator('.statusbar-item', { hasText: 'Copied the URL' }).waitFor();
		assert.equal(await w.clipboard(), r.must('db', 'url').trim());
		await w.command('Forklift: Copy Diagnostics');
		await w.answer('Copied the diagnostics');
		const told = await w.clipboard();
		assert.ok(told.includes('"phase": "running"') && !told.includes('postgres'), told);
		await w.clickStatus('before_change');
		await w.row('Restore Checkpoint').waitFor();
		await w.screenshot('actions');
		await w.escape();
		await w.command('Forklift: New Worktree From Checkpoint');
		await w.pick('Forklift: New Worktree From', 'before_change');
		await w.type('Forklift: New Worktree From before_change', 'try-it');
		await w.told('Made the worktree');
		assert.ok(r.must('worktree', 'list').includes('try-it'));
		await w.answer('Made the worktree');
		await w.command('Forklift: Forget Checkpoint');
		await w.answer('There is no checkpoint to choose'); // the worktree rests on the only one
		r.must('capture', 'useless');
		r.must('capture', 'needed');
		await w.says('needed');
		await w.command('Forklift: Forget Checkpoint');
		await w.pick('Forklift: Forget Checkpoint', 'useless');
		await w.decide('Forget useless?', 'Forget');
		await w.until(() => !r.must('list').includes('useless'), 'the checkpoint is forgotten');
		await w.command('Forklift: Prune');
		const question = w.dialog('Free about');
		await question.or(w.toast('There is nothing to free')).waitFor();
		if (await question.isVisible()) {
			await w.decide('Free about', 'Prune');
			await w.answer('Freed');
		} else {
			await w.answer('There is nothing to free');
		}
		await w.command('Forklift: Show Log');
		await w.page.locator('.part.panel', { hasText: 'connected to forklift' }).waitFor();
		await w.command('Forklift: Restart');
		await w.says('needed');
		await w.command('Forklift: Pause');
		await w.says('paused');
		await w.view('Checkpoints');
		await w.welcome('paused in this window');
		await w.screenshot('paused');
		await w.clickStatus('paused');
		await w.says('needed');
		await w.command('Forklift: Show Walkthrough');
		await w.page.locator('.gettingStarted', { hasText: 'Get Started With Forklift' }).first().waitFor();
		for (const step of ['Get the program', 'Set up a worktree', 'Capture a checkpoint']) {
			await w.page.locator('.getting-started-step', { hasText: step }).locator('.codicon-getting-started-step-checked').waitFor({ state: 'attached' });
		}
		await w.screenshot('walkthrough');
	});
	r.tearDown();
}
