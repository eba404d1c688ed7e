/** Finds the program forklift on the machine that holds the workspace. */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { l10n, workspace } from 'vscode';
import { OLDEST_PROGRAM, compareVersions } from './versions';

/** How long the program may take to tell its version. */
const VERSION_TIMEOUT = 10_000;

export interface Binary {
	path: string;
	version: string;
}

/** Why there is no program that can be used; its message is for people. */
export class NoBinary extends Error {
	constructor(
		message: string,
		/** There is one, which is older than this extension needs. */
		readonly tooOld = false,
	) {
		super(message);
	}
}

/**
 * The program of the setting, else the first one of PATH, else one in the
 * places where programs of a user usually are (an editor that was not started
 * from a shell has a short PATH).
 */
export async function findBinary(): Promise<Binary> {
	const setting = workspace.getConfiguration('forklift').get<string>('path', '').trim();
	if (setting) {
		const path = setting.startsWith('~/') ? join(homedir(), setting.slice(2)) : setting;
		if (!isAbsolute(path)) {
			throw new NoBinary(l10n.t('The setting forklift.path is not an absolute path: {0}', setting));
		}
		if (!(await isExecutable(path))) {
			throw new NoBinary(l10n.t('There is no program at {0}, which the setting forklift.path names.', path));
		}
		return check(path);
	}
	for (const dir of searched()) {
		const path = join(dir, 'forklift');
		if (await isExecutable(path)) {
			return check(path);
		}
	}
	throw new NoBinary(l10n.t('The program forklift was not found on the PATH.'));
}

function searched(): string[] {
	const path = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => isAbsolute(dir));
	return [...path, join(homedir(), 'go', 'bin'), join(homedir(), '.local', 'bin'), join(homedir(), 'bin')];
}

async function isExecutable(path: string): Promise<boolean> {
	try {
		await access(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** Asks the program who it is, and refuses one that is too old. */
async function check(path: string): Promise<Binary> {
	let version: string;
	try {
		const told = JSON.parse(await output(path, ['version', '--json'])) as { version?: unknown };
		if (typeof told.version !== 'string') {
			throw new Error(l10n.t('it tells no version'));
		}
		version = told.version;
	} catch (e) {
		throw new NoBinary(l10n.t('{0} is not the program forklift, or does not run: {1}', path, e instanceof Error ? e.message : String(e)));
	}
	if (compareVersions(version, OLDEST_PROGRAM) < 0) {
		throw new NoBinary(
			l10n.t('{0} is forklift {1}, and this extension needs {2} or newer. Update it, or choose another one.', path, version, OLDEST_PROGRAM),
			true,
		);
	}
	return { path, version };
}

function output(path: string, args: string[]): Promise<string> {
	return new Promise((resolve, reject) => {
		execFile(path, args, { timeout: VERSION_TIMEOUT, encoding: 'utf8' }, (error, stdout) => (error ? reject(error) : resolve(stdout)));
	});
}
