/** What package.json promises: conventions of VS Code that no compiler checks. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

interface Command {
	command: string;
	category: string;
	title: string;
}
interface Setting {
	scope?: string;
	order?: number;
	markdownDescription?: string;
}

const text = readFileSync('package.json', 'utf8');
const manifest = JSON.parse(text) as {
	icon: string;
	activationEvents: string[];
	extensionKind: string[];
	enabledApiProposals?: string[];
	capabilities: { untrustedWorkspaces: { supported: string; description: string; restrictedConfigurations: string[] }; virtualWorkspaces: { supported: boolean } };
	contributes: {
		commands: Command[];
		menus: Record<string, { command: string; when: string; group: string }[]>;
		views: { forklift: { id: string; icon?: string }[] };
		viewsWelcome: { view: string; when: string }[];
		configuration: { properties: Record<string, Setting> };
		walkthroughs: { steps: { completionEvents: string[] }[] }[];
	};
};
const words = JSON.parse(readFileSync('package.nls.json', 'utf8')) as Record<string, string>;
const word = (key: string): string => words[key.replace(/%/g, '')] ?? '';
const { commands, menus, configuration, walkthroughs, views, viewsWelcome } = manifest.contributes;

function sources(dir: string): string[] {
	return readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? sources(join(dir, e.name)) : [join(dir, e.name)]));
}

test('every text that package.json names is there, and none besides', () => {
	const named = [...text.matchAll(/"%([^%"]+)%"/g)].map((m) => m[1] ?? '');
	assert.deepEqual([...new Set(named)].sort(), Object.keys(words).sort());
});

test('commands: those that are declared are registered, in the category Forklift, in Title Case', () => {
	const table = readFileSync('src/commands/index.ts', 'utf8');
	const registered = [...table.matchAll(/^\t\t(\w+): /gm)].map((m) => `forklift.${m[1]}`);
	assert.deepEqual(commands.map((c) => c.command).sort(), registered.sort());
	for (const c of commands) {
		assert.equal(c.category, 'Forklift');
		assert.match(word(c.title), /^[A-Z]\w*( (a|the|From|With|[A-Z]\w*))*$/);
	}
});

test('commands of rows are not in the palette, and the README names all others', () => {
	const hidden = (menus['commandPalette'] ?? []).filter((m) => m.when === 'false').map((m) => m.command);
	assert.deepEqual(hidden, ['forklift.refresh', 'forklift.openChange', 'forklift.copyName']);
	const readme = readFileSync('README.md', 'utf8').replace(/\s+/g, ' ');
	for (const c of commands.filter((c) => !hidden.includes(c.command))) {
		assert.ok(readme.includes(word(c.title)), `README.md names ${word(c.title)}`);
	}
	for (const name of Object.keys(configuration.properties)) {
		assert.ok(readme.includes(`\`${name}\``), `README.md names ${name}`);
	}
});

test('a row has at most three buttons, and every view an icon and a text for when it is empty', () => {
	const inline = (menus['view/item/context'] ?? []).filter((m) => m.group.startsWith('inline'));
	for (const view of views.forklift) {
		assert.ok(inline.filter((m) => m.when.includes(`view == ${view.id} `)).length <= 3);
		assert.ok(view.icon);
	}
	for (const state of ['noFolder', 'untrusted', 'noBinary', 'tooOld', 'failed', 'paused', 'starting', 'notGit', 'untracked', 'ready && !forklift.hasCheckpoints']) {
		assert.ok(viewsWelcome.some((v) => v.view === 'forklift.checkpoints' && v.when === `forklift.state == ${state}`), state);
	}
});

test('settings have a scope, a place and a description; the program is not a matter of a folder that nobody trusts', () => {
	for (const [name, s] of Object.entries(configuration.properties)) {
		assert.ok(s.scope && s.order && word(s.markdownDescription ?? ''), name);
	}
	assert.equal(configuration.properties['forklift.path']?.scope, 'machine-overridable');
	const { untrustedWorkspaces, virtualWorkspaces } = manifest.capabilities;
	assert.deepEqual([untrustedWorkspaces.supported, untrustedWorkspaces.restrictedConfigurations], ['limited', ['forklift.path']]);
	assert.ok(word(untrustedWorkspaces.description));
	assert.equal(virtualWorkspaces.supported, false);
});

test('it starts late, where the files are, without proposed parts of the editor', () => {
	assert.deepEqual(manifest.activationEvents, ['onStartupFinished']);
	assert.deepEqual(manifest.extensionKind, ['workspace']);
	assert.equal(manifest.enabledApiProposals, undefined);
});

test('the walkthrough has three to five steps, and each can be completed', () => {
	const steps = walkthroughs[0]?.steps ?? [];
	assert.ok(steps.length >= 3 && steps.length <= 5);
	assert.ok(steps.every((s) => s.completionEvents.length > 0));
});

test('the icon has 128 by 128 dots', () => {
	const png = readFileSync(manifest.icon);
	assert.deepEqual([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)], ['PNG', 128, 128]);
});

test('no part of it can talk to a network, and none polls', () => {
	for (const file of sources('src')) {
		const source = readFileSync(file, 'utf8');
		assert.doesNotMatch(source, /\bfetch\(|node:(net|http|https|dgram|tls|dns)\b|setInterval|createTelemetryLogger/, file);
	}
});
