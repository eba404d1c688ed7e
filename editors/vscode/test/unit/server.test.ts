/** How the connection begins and ends, with real programs that are not forklift. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogOutputChannel } from 'vscode';
import { middleware } from '../../src/middleware';
import { Server, openLog } from '../../src/server';
import { Trace } from '../../src/trace';
import { LogLevel, Uri, commands, fake, workspace } from './vscode';

function server(): Server {
	return new Server(openLog(), {}, new Trace());
}

test('nothing is started without a folder, or without trust', async () => {
	fake.reset();
	const s = server();
	await s.start();
	assert.equal(s.phase, 'noFolder');
	fake.reset('/srv/shop');
	workspace.isTrusted = false;
	await s.restart();
	assert.equal(s.phase, 'untrusted');
	workspace.workspaceFolders = [];
	workspace.isTrusted = true;
	await s.restart();
	assert.equal(s.phase, 'noFolder');
});

test('the setting forklift.path, and what is said of a program that is none', async () => {
	const dir = mkdtempSync(join(tmpdir(), 'fv-'));
	const program = (text: string): string => {
		const path = join(dir, 'forklift');
		rmSync(path, { force: true });
		writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
		return path;
	};
	try {
		fake.reset('/srv/shop');
		const s = server();
		const check = async (path: string, reason: RegExp, tooOld = false): Promise<void> => {
			fake.settings['forklift.path'] = path;
			await s.restart();
			assert.deepEqual([s.phase, s.tooOld], ['noBinary', tooOld]);
			assert.match(s.reason, reason);
		};
		await check('bin/forklift', /is not an absolute path: bin\/forklift/);
		await check(join(dir, 'nothing'), /There is no program at .*nothing, which the setting forklift\.path names/);
		await check('~/there/is/no/such/program', /There is no program at \//);
		await check(program('exit 3'), /is not the program forklift, or does not run/);
		await check(program('echo "{}"'), /it tells no version/);
		await check(program('echo \'{"version": "0.0.9"}\''), /is forklift 0\.0\.9, and this extension needs 0\.1\.0 or newer\. Update it/, true);
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
});

test('a pause holds until somebody resumes', async () => {
	fake.reset('/srv/shop');
	fake.settings['forklift.path'] = 'relative';
	const s = server();
	const phases: string[] = [];
	s.onDidChangePhase((phase) => phases.push(phase));
	await s.pause();
	await assert.rejects(s.request('forklift/status', {}), /Forklift is paused in this window/);
	await Promise.all([s.pause(), s.restart()]); // the later one counts
	assert.deepEqual(phases, ['paused', 'starting', 'noBinary']);
});

test('the setting forklift.trace.server decides whether the talk is written', () => {
	fake.reset('/srv/shop');
	const trace = new Trace();
	const channel = trace.channel as unknown as LogOutputChannel & { onDidChangeLogLevel(f: (level: number) => void): void };
	const levels: number[] = [];
	channel.onDidChangeLogLevel((level: number) => levels.push(level));
	assert.equal(channel.logLevel, LogLevel.Off);
	fake.set('forklift.trace.server', 'messages');
	assert.deepEqual([channel.logLevel, levels], [LogLevel.Trace, [LogLevel.Trace]]);
	fake.set('forklift.path', 'x');
	assert.equal(levels.length, 1);
	channel.trace('Sending request');
	assert.deepEqual(fake.lines, ['Forklift Trace: Sending request']);
});

test('what the server offers goes the way of the palette', async () => {
	fake.reset('/srv/shop');
	const m = middleware(async () => 'text') as any;
	const next = async (...args: unknown[]) => commands.executeCommand('next', ...args);
	await m.executeCommand('forklift.server.restore', [{ ref: 'x' }], next);
	await m.executeCommand('forklift.server.note', [{ ref: 'x' }], next);
	assert.deepEqual(fake.executed, [['forklift.restore', { ref: 'x' }], ['next', 'forklift.server.note', [{ ref: 'x' }]]]);
	const kept: unknown[] = [];
	const given = [{ code: 'type' }, { code: { value: 'path' } }];
	for (const path of ['/srv/shop/.forklift.json', '/srv/shop/a.json']) {
		m.handleDiagnostics(Uri.file(path), given, (_: unknown, list: unknown[]) => kept.push(list.length));
	}
	assert.deepEqual(kept, [1, 2], 'the schema says the rest');
});
