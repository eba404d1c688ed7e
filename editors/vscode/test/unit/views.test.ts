/** What the views, the status bar and the API tell of a state. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ForkliftApi } from '../../src/api';
import { createApi } from '../../src/api';
import type { Status } from '../../src/protocol';
import { StatusBar } from '../../src/statusBar';
import { ChangesView } from '../../src/views/changes';
import { CheckpointsView } from '../../src/views/checkpoints';
import { Stage, checkpoint, settled, status } from './stage';
import { fake } from './vscode';

const changed: Status = status({
	checkpoint,
	files: [{ path: 'src/a', change: 'modified' }, { path: '"src/\\377"', change: 'added' }],
	file_count: 2,
	tables: [{ database: 'app', table: 'public.t', inserted: 3 }],
	row_count: 3,
});
const interrupted = { verb: 'restore', since: '', forward: true, target: 'before' };

test('every state has its key, and every key its text', () => {
	const stage = new Stage();
	const seen: unknown[] = [];
	const see = (): void => void seen.push(fake.context['forklift.state']);
	for (const phase of ['noFolder', 'untrusted', 'starting', 'noBinary', 'failed', 'paused'] as const) {
		stage.enter(phase);
		see();
	}
	stage.enter('noBinary', { tooOld: true });
	see();
	stage.enter('running'); // before the first status
	assert.equal(fake.context['forklift.state'], 'starting');
	stage.tell(status({ tracked: false, problems: ['/srv/shop is not inside a git worktree'] }));
	see();
	stage.tell(status({ tracked: false, problems: ['not set up'] }));
	see();
	stage.tell(status());
	see();
	const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { contributes: { viewsWelcome: { view: string; when: string }[] } };
	const texts = manifest.contributes.viewsWelcome.filter((v) => v.view === 'forklift.checkpoints').map((v) => v.when.split(' ')[2]);
	assert.deepEqual([...seen].sort(), texts.sort());
	assert.deepEqual([fake.context['forklift.hasCheckpoints'], fake.context['forklift.hasChanges']], [false, false]);
	stage.tell(changed);
	assert.deepEqual([fake.context['forklift.hasCheckpoints'], fake.context['forklift.hasChanges']], [true, true]);
	stage.tell({ ...changed, interrupted });
	assert.equal(fake.context['forklift.interrupted'], true);
});

test('the status bar: text, colour, click and links of every state', () => {
	const stage = new Stage();
	const bar = new StatusBar(stage.app.server, stage.app.worktrees);
	const item = fake.statusItems[0];
	const links = (): string[] => [...item.tooltip.value.matchAll(/\]\(command:([\w.]+)\)/g)].map((m: string[]) => m[1] ?? '');
	const looks = (): unknown[] => [item.text, item.backgroundColor?.id, item.command];
	const error = 'statusBarItem.errorBackground';
	const warning = 'statusBarItem.warningBackground';
	for (const [phase, over, want, linked] of [
		['untrusted', {}, ['$(shield) untrusted', undefined, 'workbench.trust.manage'], ['workbench.trust.manage']],
		['noBinary', {}, ['$(warning) forklift not found', warning, 'forklift.choosePath'], ['forklift.showLog', 'forklift.restart']],
		['noBinary', { tooOld: true }, ['$(warning) forklift too old', warning, 'forklift.choosePath'], ['forklift.showLog', 'forklift.restart']],
		['failed', {}, ['$(error) forklift failed', error, 'forklift.showLog'], ['forklift.showLog', 'forklift.restart']],
		['paused', {}, ['$(debug-pause) paused', undefined, 'forklift.resume'], ['forklift.resume', 'forklift.showLog']],
	] as const) {
		stage.enter(phase, over);
		assert.deepEqual([looks(), links()], [want, linked], phase);
	}
	const service = ['forklift.showLog', 'forklift.restart', 'forklift.pause'];
	stage.tell(status({ tracked: false }));
	assert.deepEqual([looks(), links()], [['$(repo-forked) not tracked', undefined, 'forklift.showActions'], ['forklift.setUp', ...service]]);
	stage.tell(changed);
	assert.deepEqual(looks(), ['$(repo-forked) before_change · 2 files · 3 rows', undefined, 'forklift.showActions']);
	assert.deepEqual(links(), ['forklift.capture', 'forklift.compareWorktree', 'forklift.restore', 'forklift.undo', ...service]);
	assert.ok(links().every((l) => item.tooltip.isTrusted.enabledCommands.includes(l)));
	stage.tell({ ...changed, interrupted });
	assert.deepEqual([looks(), links()], [['$(error) restore interrupted', error, 'forklift.recover'], ['forklift.recover', ...service]]);
	stage.tell({ ...changed, operation: { verb: 'capture' } });
	assert.equal(item.text, '$(sync~spin) capture');
	stage.tell({ ...changed, problems: ['the disk is slow'] });
	assert.deepEqual(looks().slice(0, 2), ['$(warning) before_change · 2 files · 3 rows', warning]);
	assert.deepEqual(item.accessibilityInformation, { label: 'Forklift: before_change · 2 files · 3 rows', role: 'button' });
	stage.enter('noFolder');
	assert.equal(item.visible, false);
	bar.dispose();
});

test('Changes Since: files, tables and definitions, all with something to hear', async () => {
	const definitions = [{ database: 'app', kind: 'view', name: 'public.totals', change: 'created' }];
	let answer = { definitions };
	const stage = new Stage({ diff: () => answer });
	const view = new ChangesView(stage.app);
	const tree = fake.trees['forklift.changes'];
	stage.tell(changed);
	await settled();
	assert.deepEqual(stage.asked, [], 'nobody looks');
	tree.open();
	await settled();
	assert.equal(stage.asked.length, 1);
	const groups = view.getChildren();
	const items = groups.flatMap((g) => [view.getTreeItem(g), ...view.getChildren(g).map((n) => view.getTreeItem(n))]) as any[];
	assert.deepEqual(
		items.map((i) => [i.contextValue, i.description]),
		[['files', '2'], ['file', 'src · modified'], [undefined, '"src · added'], ['tables', '3 rows'], ['table', '+3'], ['definitions', '1'], ['definition', 'view · created']],
	);
	assert.deepEqual(
		items.filter((i) => i.collapsibleState === 2).map((i) => i.accessibilityInformation.label),
		['Files that differ from before_change: 2 files', 'Tables that differ from before_change: 3 rows', 'Definitions that differ from before_change: 1 definition'],
	);
	assert.ok(items.every((i) => i.id && i.accessibilityInformation?.label));
	assert.equal(new Set(items.map((i) => i.id)).size, items.length);
	assert.deepEqual([tree.badge.value, tree.badge.tooltip, tree.description], [3, '2 files · 3 rows since before_change', 'before_change']);

	stage.tell({ ...changed, file_count: 3 });
	await settled();
	assert.equal(stage.asked.length, 1, 'a file says nothing of the database');
	answer = { definitions: [] };
	stage.tell({ ...changed, operation: { verb: 'restore' } });
	stage.tell(changed);
	await settled();
	assert.deepEqual([stage.asked.length, view.getChildren().length], [2, 2], 'after an operation it looks again');
	answer = { definitions };
	view.refresh();
	await settled();
	assert.equal(view.getChildren().length, 3);
	stage.tell(status({ checkpoint: { ...checkpoint, id: '02' }, worktree: { ...changed.worktree, path: '/srv/shop/inner' } }));
	stage.tell(status());
	assert.deepEqual([view.getChildren(), tree.badge], [[], undefined]);
});

test('Checkpoints: safety checkpoints are shown where that is set', async () => {
	const other = { ...checkpoint, id: '02', name: 'theirs', worktree: 'second', current: false, actor: 'lsp' };
	const safety = { ...checkpoint, id: '03', name: 'safe', kind: 'safety' as const, current: false, reason: 'before a restore' };
	const stage = new Stage({ 'forklift/checkpoints': (how: { all: boolean }) => ({ worktree: 'shop', checkpoints: [checkpoint, other, ...(how.all ? [safety] : [])] }) });
	const view = new CheckpointsView(stage.app);
	stage.tell(status({ checkpoint }));
	const looks = async (): Promise<unknown[][]> => {
		const rows: unknown[][] = [];
		for (const group of await view.getChildren()) {
			for (const node of [group, ...(await view.getChildren(group))]) {
				const item = view.getTreeItem(node) as any;
				assert.ok(item.accessibilityInformation.label.includes(item.label), item.label);
				rows.push([item.label, item.contextValue]);
			}
		}
		return rows;
	};
	const others = [['second', 'worktree.other'], ['theirs', 'checkpoint']];
	assert.deepEqual(await looks(), [['shop', 'worktree.own'], ['before_change', 'checkpoint.kept'], ...others]);
	fake.set('forklift.showSafetyCheckpoints', true);
	assert.deepEqual(await looks(), [['shop', 'worktree.own'], ['before_change', 'checkpoint.kept'], ['safe', 'checkpoint.kept'], ...others]);
	stage.tell({ ...status({ checkpoint }), interrupted });
	assert.match(fake.trees['forklift.checkpoints'].message, /was interrupted/);
});

test('the API tells what is new, and only that', () => {
	const stage = new Stage();
	const api: ForkliftApi = createApi(stage.app.server, stage.app.worktrees, []);
	assert.deepEqual([api.apiVersion, api.getState()], [1, { phase: 'starting', worktrees: [] }]);
	const told: string[] = [];
	api.onDidChange((s) => told.push(`${s.phase} ${s.worktrees.map((w) => `${w.checkpoint?.name} ${w.files} ${w.rows} ${w.operation} ${w.interrupted}`).join()}`));
	stage.tell(changed);
	stage.tell({ ...changed });
	stage.tell({ ...changed, rows_known: false, operation: { verb: 'capture' } });
	stage.tell({ ...changed, interrupted });
	stage.enter('paused');
	assert.deepEqual(told, [
		'running ', 'running before_change 2 3 undefined undefined', 'running before_change 2 undefined capture undefined', 'running before_change 2 3 undefined restore', 'paused ',
	]);
	stage.tell(status({ tracked: false }));
	assert.deepEqual(api.getState().worktrees, [
		{ path: '/srv/shop', name: 'shop', tracked: false, checkpoint: undefined, files: undefined, rows: undefined, operation: undefined, interrupted: undefined },
	]);
});
