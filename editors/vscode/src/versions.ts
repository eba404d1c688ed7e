/** Whether the extension and the program fit together. */

/** The oldest program that has all that the extension asks for. */
export const OLDEST_PROGRAM = '0.1.0';

/** Major, minor and patch of a version; a pre-release counts as its release. */
export function parseVersion(text: string): [number, number, number] | undefined {
	const m = /^v?(\d+)\.(\d+)\.(\d+)/.exec(text.trim());
	return m ? [Number(m[1]), Number(m[2]), Number(m[3])] : undefined;
}

/** Below 0, 0 or above 0 as a is older than, the same as or newer than b. */
export function compareVersions(a: string, b: string): number {
	const x = parseVersion(a);
	const y = parseVersion(b);
	if (!x || !y) {
		return 0; // a build without a version is taken as it is
	}
	for (let i = 0; i < 3; i++) {
		const d = (x[i] ?? 0) - (y[i] ?? 0);
		if (d !== 0) {
			return d;
		}
	}
	return 0;
}
