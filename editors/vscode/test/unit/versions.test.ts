import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions, parseVersion } from '../../src/versions';

test('versions are compared by their numbers', () => {
	for (const [a, b, want] of [
		['0.1.0', '0.1.0', 0],
		['0.1.0-dev', '0.1.0', 0],
		['v0.10.0', '0.9.9', 1],
		['0.1.9', '0.2.0', -1],
		['1.0.0', '0.99.99', 1],
	] as const) {
		assert.equal(Math.sign(compareVersions(a, b)), want, `${a} and ${b}`);
	}
});

test('what is no version is taken as it is', () => {
	assert.equal(parseVersion('devel'), undefined);
	assert.equal(compareVersions('devel', '9.9.9'), 0);
});
