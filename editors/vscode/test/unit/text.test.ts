import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RestorePlan } from '../../src/protocol';
import { ago, bytes, changes, maker, planDetail, planLine, reference, some, statusLine, tableCounts, tableWords } from '../../src/text';
import { checkpoint, status } from './stage';

test('the status bar says where, and how far from there', () => {
	assert.equal(statusLine(status({ checkpoint, file_count: 3, row_count: 124 })), 'before_change · 3 files · 124 rows');
	assert.equal(statusLine(status({ checkpoint, file_count: 1, row_count: 1 })), 'before_change · 1 file · 1 row');
	assert.equal(statusLine(status({ checkpoint })), 'before_change');
	assert.equal(statusLine(status({})), 'no checkpoint');
	assert.equal(statusLine(status({ tracked: false })), 'not tracked');
	assert.equal(statusLine(status({ operation: { verb: 'capture', phase: 'read database' } })), 'capture: read database');
	assert.equal(statusLine(status({ interrupted: { verb: 'restore', since: '', forward: true, target: 'x' }, operation: { verb: 'restore' } })), 'restore interrupted');
	assert.equal(changes(status({ row_count: 2 })), '2 rows');
});

test('ages', () => {
	const now = Date.parse('2027-03-01T12:00:00Z');
	for (const [created, want] of [
		['2027-03-01T11:59:30Z', 'just now'],
		['2027-03-01T11:59:00Z', '1 minute ago'],
		['2027-03-01T11:01:00Z', '59 minutes ago'],
		['2027-03-01T10:00:00Z', '2 hours ago'],
		['2027-02-27T10:00:00Z', '2 days ago'],
		['2027-03-01T12:00:09Z', 'just now'],
	]) {
		assert.equal(ago(created ?? '', now), want);
	}
});

test('sizes', () => {
	assert.deepEqual([0, 1023, 1536, 200 * 1024, 3 * 1024 ** 3].map(bytes), ['0 B', '1023 B', '1.5 KB', '200 KB', '3.0 GB']);
});

test('tables, to be seen and to be heard', () => {
	const t = { database: 'app', table: 'public.invoices', inserted: 3, updated: 0, deleted: 1 };
	assert.equal(tableCounts(t), '+3 −1');
	assert.equal(tableWords(t), '3 rows inserted, 1 row deleted');
	assert.equal(tableCounts({ database: 'app', table: 't', change: 'rewritten' }), 'rewritten');
});

test('who made a checkpoint', () => {
	assert.deepEqual(['lsp', 'cli', 'my-agent'].map(maker), ['an editor', 'the command line', 'my-agent']);
});

test('a checkpoint of another worktree has its name in front', () => {
	assert.equal(reference(checkpoint, 'shop'), 'before_change');
	assert.equal(reference(checkpoint, 'other'), 'shop:before_change');
});

test('a question names what is overwritten, and counts the rest', () => {
	assert.equal(some(['a', 'b', 'c'], 3, 2), 'a\nb\nand 1 more');
	const plan: RestorePlan = {
		plan_id: 'x', id: '1', name: 'before', written: 2, removed: 1, modes: 0, kept: 0,
		files: [{ path: 'src/a', change: 'modified' }, { path: 'src/b', change: 'added' }, { path: 'src/c', change: 'removed' }],
		database: {
			bytes: 1, stops: true, rows_known: true, tables: [{ database: 'app', table: 'public.t', deleted: 2 }],
			definitions: [{ database: 'app', kind: 'view', name: 'public.totals', change: 'changed' }, { database: 'app', kind: 'index', name: 'public.by_day', change: 'dropped' }],
			definitions_known: true, catalogs: true,
		},
	};
	const text = planDetail(plan);
	for (const want of ['Overwritten:\n    src/a', 'Brought back:\n    src/b', 'Removed:\n    src/c', 'public.t  −2', 'otherwise:\n    view public.totals  changed\n    index public.by_day  dropped\n', 'Undo Last Restore']) {
		assert.ok(text.includes(want), `${want} in ${text}`);
	}
	assert.ok(!text.includes('not known'), text);
	assert.equal(planLine(plan), '3 files · 2 rows · 2 definitions');
	const same = { ...plan, files: [], written: 0, removed: 0, database: { ...plan.database!, tables: [], definitions: plan.database!.definitions.slice(0, 1) } };
	assert.equal(planLine(same), 'no file · no row · 1 definition');
	const stopped = { ...same, database: { ...same.database, definitions: [], rows_known: false, definitions_known: false } };
	assert.equal(planLine(stopped), 'no file');
	const aside = { ...stopped, database: { ...stopped.database, problems: ['it was set aside'] } };
	assert.ok(planDetail(aside).includes('Which rows differ is not known: it was set aside.'), planDetail(aside));
	for (const want of ['Which rows differ is not known: its server is stopped.', 'defined otherwise is not known']) {
		assert.ok(planDetail(stopped).includes(want), `${want} in ${planDetail(stopped)}`);
	}
	assert.ok(!planDetail({ ...stopped, database: { ...stopped.database, catalogs: false } }).includes('otherwise'));
	const { database: _, ...half } = plan;
	assert.equal(planLine(half), '3 files');
});
