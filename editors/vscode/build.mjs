// Bundles the extension into bin/extension.js and bin/languageClient.js. With --tests it bundles the
// tests instead: bin/unit.test.js, with a stand-in for the editor's API, and
// bin/stories.test.js. Beside the extension it writes bin/NOTICE.txt: the licences of the packages in it, which
// must be of the list below to be shipped in an Apache-2.0 program.
import { build } from 'esbuild';
import { readFile, readdir, writeFile } from 'node:fs/promises';

const licences = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'BlueOak-1.0.0'];

const tests = process.argv.includes('--tests');
const result = await build({
	entryPoints: tests ? { 'unit.test': 'test/unit/all.test.ts', 'stories.test': 'test/stories/all.test.ts' } : { extension: 'src/extension.ts', languageClient: 'src/languageClient.ts' },
	outdir: 'bin',
	bundle: true,
	platform: 'node',
	format: 'cjs',
	target: 'node20',
	minify: !tests,
	sourcemap: tests ? 'inline' : false,
	legalComments: 'none', // they are in NOTICE.txt, whole
	metafile: true,
	external: ['playwright-core', './languageClient.js', ...(tests ? [] : ['vscode'])],
	...(tests ? { alias: { vscode: './test/unit/vscode.ts' } } : {}),
	logLevel: 'warning',
});
if (!tests) {
	await writeFile('bin/NOTICE.txt', await notice(Object.keys(result.metafile.inputs)));
}

/** The names, versions and licence texts of the packages that files are of. */
async function notice(inputs) {
	const dirs = new Set(inputs.flatMap((f) => f.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? []));
	const parts = ['The bundle languageClient.js contains these packages.'];
	for (const dir of [...dirs].sort()) {
		const pkg = JSON.parse(await readFile(`${dir}/package.json`, 'utf8'));
		if (!licences.includes(pkg.license)) {
			throw new Error(`${pkg.name}: the licence ${pkg.license} is not on the list of ${licences.join(', ')}`);
		}
		const file = (await readdir(dir)).find((f) => /^licen[cs]e/i.test(f));
		if (!file) {
			throw new Error(`${pkg.name}: it has no licence text`);
		}
		parts.push(`${pkg.name} ${pkg.version} (${pkg.license})\n\n${(await readFile(`${dir}/${file}`, 'utf8')).trim()}`);
	}
	return parts.join(`\n\n${'-'.repeat(72)}\n\n`) + '\n';
}
