/** A story, and what is said in the end of one that fails: few lines, which stay when a long log is cut. */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { test } from 'node:test';

/** How long a story may take in milliseconds; each of its waits has a limit of its own. */
const LONGEST = 900_000;

/** A line that is longer is cut. */
const WIDTH = 230;

const seen = new WeakMap<object, string[]>();

/** Adds what a window showed to what is said of an error. */
export function remember(e: unknown, lines: string[]): void {
	if (typeof e === 'object' && e !== null && !seen.has(e)) {
		seen.set(e, lines);
	}
}

/** A test that writes why it failed into the file that STORY_FAILURES names, too. */
export function story(name: string, run: () => Promise<void>): void {
	test(name, { timeout: LONGEST }, async () => {
		try {
			await run();
		} catch (e) {
			const file = process.env['STORY_FAILURES'];
			if (file) {
				appendFileSync(file, words(name, e).map((line) => `FAIL: ${line}`.slice(0, WIDTH) + '\n').join(''));
			}
			throw e;
		}
	});
}

function words(name: string, e: unknown): string[] {
	const error = e instanceof Error ? e : new Error(String(e));
	const lines = error.message.replace(/\u001b\[[\d;]*m/g, '').split('\n').map((line) => line.trim()).filter((line) => line && line !== 'Call log:');
	const steps = [...(error.stack ?? '').matchAll(/\(?((?:\/|file:)[^\s()]*\/stories\/\w+\.ts:\d+)/g)].map((m) => relative(process.cwd(), (m[1] ?? '').replace(/^file:\/\//, '')));
	return [name, `  at ${steps.filter((s) => !s.includes('/story.ts')).join(' < ')}`, ...lines.slice(0, 3).map((line) => `  ${line}`), ...(seen.get(error) ?? []).map((line) => `  ${line}`)];
}
