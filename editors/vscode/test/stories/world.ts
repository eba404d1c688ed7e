/** A machine of its own for the stories: home, store, repositories and databases. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

function needed(name: string): string {
	const value = process.env[name];
	if (!value) {
		throw new Error(`${name} is not set; test/run.sh sets it`);
	}
	return value;
}

export class World {
	readonly dir = mkdtempSync(join(tmpdir(), 'fv-')); // short: sockets have names of 100 bytes
	readonly binary = needed('FORKLIFT_BINARY');
	readonly env: NodeJS.ProcessEnv;

	constructor() {
		const home = join(this.dir, 'home');
		for (const name of ['home', 'run', 'bin']) {
			mkdirSync(join(this.dir, name), { mode: 0o700 });
		}
		const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(FORKLIFT_|XDG_|GIT_|VSCODE_|NODE_OPTIONS|PG)/.test(name)));
		execFileSync('ln', ['-s', this.binary, join(this.dir, 'bin', 'forklift')]);
		this.env = {
			...clean,
			HOME: home,
			SHELL: '/bin/bash',
			XDG_RUNTIME_DIR: join(this.dir, 'run'),
			PATH: [join(this.dir, 'bin'), process.env['PATH']].join(delimiter),
			FORKLIFT_PG_BIN: needed('FORKLIFT_PG_BIN'),
			FORKLIFT_DAEMON_IDLE: '30s',
			PROBE_DIR: this.dir,
			GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
			GIT_CONFIG_NOSYSTEM: '1',
		};
		// The editor asks a login shell for the PATH, as it does for a user.
		writeFileSync(join(home, '.profile'), `PATH='${this.env['PATH']}'\n`);
		writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n');
	}

	/** A repository with one commit, an application; config is added to its .forklift.json. */
	repository(name: string, config: object = {}): Repository {
		const path = join(this.dir, name);
		mkdirSync(join(path, 'src'), { recursive: true });
		const r = new Repository(this, path);
		r.write('src/app.py', Array.from({ length: 60 }, (_, i) => `line_${i + 1} = ${i + 1}\n`).join(''));
		r.write('src/invoice.sql', 'SELECT total FROM invoices;\n');
		r.write('.forklift.json', JSON.stringify({ format: 1, source: ['src'], commands: { count: ['sh', '-c', 'ls src | wc -l | tee counted.txt'] }, ...config }, undefined, 2) + '\n');
		r.git('init', '-q');
		r.git('add', '.');
		r.git('commit', '-q', '-m', 'Begin');
		return r;
	}

	/** A worktree that is there already. */
	at(name: string): Repository {
		return new Repository(this, join(this.dir, name));
	}

	/** Ends the daemon and every database, and removes all. */
	close(): void {
		spawnSync(this.binary, ['daemon', 'stop'], { env: this.env, timeout: 20_000 });
		rmSync(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
	}
}

export class Repository {
	constructor(
		readonly world: World,
		readonly path: string,
	) {}

	git(...args: string[]): void {
		execFileSync('git', args, { cwd: this.path, env: this.world.env });
	}

	write(name: string, text: string): void {
		mkdirSync(dirname(join(this.path, name)), { recursive: true });
		writeFileSync(join(this.path, name), text);
	}

	read(name: string): string {
		return readFileSync(join(this.path, name), 'utf8');
	}

	/** Runs the command line; its result, or the error when it is to fail. */
	forklift(args: string[], env: NodeJS.ProcessEnv = {}): { code: number | null; stdout: string; stderr: string; signal: string | null } {
		const r = spawnSync(this.world.binary, args, { cwd: this.path, env: { ...this.world.env, ...env }, encoding: 'utf8', timeout: 60_000 });
		return { code: r.status, stdout: r.stdout, stderr: r.stderr, signal: r.signal };
	}

	/** Starts the command line; its exit code comes when it has ended. */
	begin(...args: string[]): Promise<number | null> {
		const child = spawn(this.world.binary, args, { cwd: this.path, env: this.world.env, stdio: 'ignore', timeout: 300_000 });
		return new Promise((resolve, reject) => child.on('error', reject).on('exit', resolve));
	}

	must(...args: string[]): string {
		const r = this.forklift(args);
		if (r.code !== 0) {
			throw new Error(`forklift ${args.join(' ')}: ${r.code} ${r.stderr}`);
		}
		return r.stdout;
	}

	sql(text: string): string {
		return this.must('db', 'shell', '-c', text).trim();
	}

	/** How many rows a table has. */
	count(table: string): number {
		return Number(/\d+/.exec(this.sql(`SELECT 'n=' || count(*) FROM ${table}`).replace(/^[^=]*\n/g, ''))?.[0]);
	}

	/** Sets it up and stops its server at the end of the world. */
	setUp(): this {
		this.must('setup', '--yes');
		return this;
	}

	tearDown(): void {
		this.forklift(['recover']);
		this.forklift(['db', 'stop']);
		this.forklift(['teardown', '--yes']);
	}
}
