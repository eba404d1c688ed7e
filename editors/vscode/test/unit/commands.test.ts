/** The commands: what each asks the user, what it asks the server, and what it says. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Stage, checkpoint, status } from './stage';
import { Uri, fake, workspace } from './vscode';

const row = { checkpoint, path: '/srv/shop' };
const resting = status({ checkpoint });
const shown = (text: string) => fake.shown.find((s) => s.text.includes(text));

test('every command is run by a test or a story', () => {
	const told = ['test/unit', 'test/stories'].flatMap((dir) => readdirSync(dir).map((name) => readFileSync(`${dir}/${name}`, 'utf8'))).join('\n');
	const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { contributes: { commands: { command: string }[] } };
	const words = JSON.parse(readFileSync('package.nls.json', 'utf8')) as Record<string, string>;
	const missing = manifest.contributes.commands
		.map((c) => c.command.replace('forklift.', ''))
		.filter((name) => !told.includes(`run('${name}'`) && !told.includes(`'Forklift: ${words[`command.${name}`]}'`));
	assert.deepEqual(missing, []);
});

test('without the server a command says why', async () => {
	const stage = new Stage();
	stage.enter('paused', { reason: 'Forklift is paused in this window.' });
	await stage.run('capture');
	assert.equal(fake.shown[0]?.text, 'Forklift is paused in this window.');
	assert.deepEqual(stage.asked, []);
});

test('a folder without a database is offered one', async () => {
	const stage = new Stage({ seed_list: { seeds: [] }, setup: { worktree: { name: 'shop' }, created: true, config_path: '/srv/shop/.forklift.json', review: true } });
	stage.tell(status({ tracked: false, problems: ['it is not set up'] }));
	await stage.run('capture', undefined, 'Set Up Worktree');
	assert.deepEqual(stage.last('setup'), { worktree: '/srv/shop' });
	assert.ok(shown('Review .forklift.json'));
	assert.equal(fake.executed.at(-1)?.[0], 'showTextDocument');
});

test('set up offers the seeds', async () => {
	const seeds = [{ name: 'demo', created: checkpoint.created, logical_bytes: 1024 }];
	const stage = new Stage({ seed_list: { seeds }, setup: { worktree: { name: 'shop' }, created: true, review: false } });
	stage.tell(status({ tracked: false }));
	await stage.run('setUp', undefined, 'demo');
	assert.equal(stage.last('setup').seed, 'demo');
});

test('pause and resume', async () => {
	const stage = new Stage().tell(resting);
	await stage.run('pause');
	assert.deepEqual([stage.app.server.phase, fake.context['forklift.state'], fake.context['forklift.tracked']], ['paused', 'paused', false]);
	await stage.run('showActions', undefined, 'Resume');
	assert.deepEqual(fake.shown.at(-1)?.items.map((i) => i.label), ['Resume', 'Show Log', 'Show Walkthrough']);
	assert.equal(stage.app.server.phase, 'running');
	await stage.run('pause');
	await stage.run('resume');
	assert.equal(stage.app.server.phase, 'running');
});

test('the list of actions is that of the state', async () => {
	const stage = new Stage();
	const offered = async (): Promise<string[]> => {
		await stage.run('showActions');
		return fake.shown.at(-1)?.items.map((i) => i.label).filter((l) => l) ?? [];
	};
	const service = ['Show Log', 'Restart', 'Show Walkthrough'];
	stage.enter('untrusted');
	assert.deepEqual(await offered(), ['Manage Workspace Trust', ...service]);
	stage.enter('noBinary');
	assert.deepEqual(await offered(), ['Choose the Forklift Program', ...service]);
	stage.enter('failed');
	assert.deepEqual(await offered(), service);
	const running = ['Show Log', 'Restart', 'Pause', 'Show Walkthrough'];
	stage.tell(status({ tracked: false }));
	assert.deepEqual(await offered(), ['Set Up Worktree', ...running]);
	stage.tell(status({ interrupted: { verb: 'restore', since: '', forward: true, target: 'x' } }));
	assert.deepEqual(await offered(), ['Recover', ...running]);
	stage.tell(status({ trusted: false }));
	assert.deepEqual(await offered(), ['Capture Checkpoint', 'Capture Checkpoint With a Name', 'Trust', 'Run Command', 'Open Database Shell', ...running]);
	stage.tell(resting);
	assert.ok((await offered()).includes('Restore Checkpoint'));
});

test('unsaved files are saved without a question where that is set', async () => {
	const stage = new Stage({ capture: { name: 'c1', away_ms: 1 } }).tell(resting);
	let saved = 0;
	workspace.textDocuments = [{ isDirty: true, uri: Uri.file('/srv/shop/src/a'), save: async () => ++saved }];
	fake.settings['forklift.unsavedFiles'] = 'save';
	await stage.run('capture');
	assert.equal(saved, 1);
	assert.deepEqual([stage.last('capture'), fake.shown.map((s) => s.text)], [{ worktree: '/srv/shop' }, ['Captured c1.']]);
	fake.settings['forklift.unsavedFiles'] = 'ask';
	await stage.run('capture', undefined, 'Capture What Is on Disk');
	assert.deepEqual([saved, stage.last('capture').include_unsaved], [1, 'disk']);
	const before = stage.asked.length;
	await stage.run('capture'); // nothing is answered: it is taken back
	assert.equal(stage.asked.length, before);
});

test('files that another editor has unsaved are a question, too', async () => {
	const refusal = Object.assign(new Error(), { data: { kind: 'unsaved', message: 'there are unsaved files', items: ['src/a'] } });
	const stage = new Stage({
		capture: (how: { include_unsaved?: string }) => {
			if (!how.include_unsaved) {
				throw refusal;
			}
			return { name: 'c1' };
		},
	}).tell(resting);
	await stage.run('capture', undefined, 'Go On With What Is on Disk');
	assert.equal(shown('there are unsaved files')?.detail, 'src/a');
	assert.equal(stage.last('capture').include_unsaved, 'disk');
});

test('a restore does what was agreed to, and asks again when that became old', async () => {
	const plan = { plan_id: 'p1', id: '01', name: 'before_change', files: [{ path: 'src/a', change: 'modified' }], written: 1, removed: 0, modes: 0, kept: 0 };
	const old = Object.assign(new Error(), { data: { kind: 'changed', path: 'p1', message: 'the plan is old' } });
	const plans = [plan, { ...plan, plan_id: 'p2' }];
	const stage = new Stage({
		'forklift/plan': () => ({ plan: plans.shift() }),
		restore: (how: { plan: string }) => {
			if (how.plan === 'p1') {
				throw old;
			}
			return { verb: 'restore', name: 'before_change', changed: 1, removed: 0 };
		},
	}).tell(resting);
	await stage.run('restore', row, 'Restore', 'Restore');
	assert.ok(shown('Restore before_change in shop?')?.detail.includes('src/a'));
	assert.ok(shown('Please look again'));
	assert.deepEqual(stage.last('restore'), { worktree: '/srv/shop', ref: 'before_change', yes: true, plan: 'p2' });
	assert.ok(shown('Restored before_change (1 file written or removed).')?.items.includes('Undo'));
});

test('compare tells tables and what is defined otherwise', async () => {
	const tables = [{ database: 'app', table: 'public.t', inserted: 2 }];
	const definitions = [{ database: 'app', kind: 'view', name: 'public.totals', change: 'created' }];
	const stage = new Stage({ diff: { files: [{ path: 'src/a', change: 'modified' }], tables, definitions, rows_known: true, definitions_known: true } }).tell(resting);
	await stage.run('compareWorktree', row);
	assert.equal(fake.shown[0]?.text, 'Tables that differ: public.t +2 (2 rows). Defined otherwise: view public.totals created.');
	assert.equal(fake.executed[0]?.[0], 'vscode.changes');
	assert.equal(stage.last('diff').a, 'before_change');
	await stage.run('openChange', { file: Uri.file('/srv/shop/src/a'), path: 'src/a' });
	const [name, left, right] = fake.executed[1] ?? [];
	assert.deepEqual([name, String(left), String(right)], ['vscode.diff', 'forklift:///srv/shop/src/a?checkpoint=01', 'file:///srv/shop/src/a']);
});

test('trust approves what was shown', async () => {
	const stage = new Stage({ trust: (how: { show?: boolean }) => (how.show ? { text: 'command verify: make', plan_id: 't1', trusted: false } : {}) }).tell(resting);
	await stage.run('trust');
	assert.deepEqual(stage.last('trust'), { worktree: '/srv/shop', show: true }, 'without an answer nothing is approved');
	await stage.run('trust', undefined, 'Approve');
	assert.equal(shown('Approve what')?.detail, 'command verify: make');
	assert.deepEqual(stage.last('trust'), { worktree: '/srv/shop', plan: 't1' });
});

test('a project without commands is told how to name some', async () => {
	const stage = new Stage({ 'forklift/commands': { commands: [], trusted: true } }).tell(resting);
	await stage.run('run', undefined, 'Open .forklift.json');
	assert.ok(shown('names no commands'));
	assert.equal(fake.tasks.length, 0);
	assert.equal(fake.executed.at(-1)?.[0], 'showTextDocument');
});

test('recover says which way before it goes', async () => {
	const stage = new Stage({ recover: { nothing: false, verb: 'restore', direction: 'back' } });
	stage.tell(status({ interrupted: { verb: 'restore', since: '', forward: false, target: 'before' } }));
	await stage.run('recover', undefined, 'Recover');
	assert.ok(shown('The restore of before was interrupted.')?.detail.includes('takes it back'));
	assert.ok(shown('as if the restore had never begun'));
});

test('errors have a hint, or a button that does it', async () => {
	const failed = (data: object) => () => {
		throw Object.assign(new Error(), { data });
	};
	let stage = new Stage({ capture: failed({ kind: 'full', message: 'the disk is full', hint: 'Run Prune.' }) }).tell(resting);
	await stage.run('capture');
	assert.equal(fake.shown[0]?.text, 'the disk is full. Run Prune.');
	stage = new Stage({ undo: failed({ kind: 'untrusted', message: 'hooks are not approved', hint: 'forklift trust' }), trust: { trusted: true } }).tell(resting);
	await stage.run('undo', undefined, 'Trust');
	assert.equal(fake.shown[0]?.text, 'hooks are not approved');
	assert.ok(stage.last('trust'));
	stage = new Stage({ redo: failed({ kind: 'canceled', message: 'it was taken back' }) }).tell(resting);
	await stage.run('redo');
	assert.deepEqual(fake.shown, [], 'what the user took back is not told');
});

test('names, paths and URLs', async () => {
	const stage = new Stage({ db_url: { url: 'postgres://x' } }).tell(resting);
	await stage.run('copyName', row);
	assert.equal(fake.clipboard, 'before_change');
	await stage.run('copyUrl');
	assert.equal(fake.clipboard, 'postgres://x');
	assert.ok(!fake.lines.join().includes('postgres://x'), 'it may hold a password');
	await stage.run('choosePath', undefined, '/opt/forklift');
	assert.equal(fake.settings['forklift.path'], '/opt/forklift');
	await stage.run('refresh');
	assert.equal(stage.refreshed, 1);
	await stage.run('databaseShell');
	assert.deepEqual([fake.terminals[0].shellPath, fake.terminals[0].shellArgs, fake.terminals[0].cwd], ['/bin/forklift', ['db', 'shell'], '/srv/shop']);
});
