/**
 * The shapes of what `forklift lsp` tells, as far as the extension reads them.
 * They are the results of the verbs of the command line (`forklift VERB
 * --json`); the package server/session of Forklift is their manual.
 */

/** A checkpoint, as a row of `forklift list`. */
export interface Checkpoint {
	id: string;
	name: string;
	/** The name of the worktree that made it. */
	worktree: string;
	kind: 'capture' | 'safety' | 'rescue' | 'seed';
	created: string;
	note?: string;
	reason?: string;
	/** Who made it: "cli", "lsp", an agent. */
	actor: string;
	head?: string;
	git_branch?: string;
	/** Source files that it holds. */
	files: number;
	logical_bytes: number;
	own_bytes: number;
	shared_bytes: number;
	/** The asking worktree rests on it. */
	current: boolean;
	half?: string;
	protected: boolean;
}

export interface FileChange {
	path: string;
	change: 'added' | 'modified' | 'removed' | 'mode';
}

export interface TableChange {
	database: string;
	table: string;
	/** Of a diff: rows, created, dropped, rewritten, or files when no more is known. */
	change?: string;
	inserted?: number;
	updated?: number;
	deleted?: number;
}

/** An object of a database that is defined otherwise, such as a view. */
export interface DefinitionChange {
	database: string;
	/** table, view, index, function, ... */
	kind: string;
	name: string;
	change: 'created' | 'dropped' | 'changed';
}

/** What forklift/status carries. */
export interface Status {
	tracked: boolean;
	text: string;
	icon: string;
	worktree: { id: string; name: string; project: string; path: string };
	interrupted?: { verb: string; since: string; forward: boolean; target: string };
	operation?: { verb: string; phase?: string };
	checkpoint?: Checkpoint;
	source_checkpoint?: Checkpoint;
	source: string[];
	files: FileChange[];
	file_count: number;
	files_known: boolean;
	tables: TableChange[];
	row_count: number;
	rows_known: boolean;
	server: { state: string; version?: string };
	holders: { pid: number; argv: string[] }[];
	unsaved?: { path: string; editor: string }[];
	trusted: boolean;
	problems?: string[];
}

/** An answer to forklift/checkpoints. */
export interface CheckpointPage {
	worktree: string;
	checkpoints: Checkpoint[];
	next?: string;
}

/** What a restore would do. */
export interface RestorePlan {
	plan_id: string;
	id: string;
	name: string;
	files: FileChange[];
	written: number;
	removed: number;
	modes: number;
	kept: number;
	database?: DatabasePlan;
	in_the_way?: string[];
	warnings?: string[];
}

/** What a restore would do to the database. */
export interface DatabasePlan {
	bytes: number;
	stops: boolean;
	tables: TableChange[];
	rows_known: boolean;
	definitions: DefinitionChange[];
	definitions_known: boolean;
	/** Files of system tables differ: where definitions are not known, they may. */
	catalogs: boolean;
	problems?: string[];
}

export interface CaptureResult {
	id: string;
	name: string;
	files: number;
	added_bytes: number;
	away_ms: number;
	wall_ms: number;
	warnings?: string[];
}

export interface RestoreResult {
	verb: string;
	name: string;
	safety_name: string;
	changed: number;
	removed: number;
	rescued?: string[];
	rescue_name?: string;
	warnings?: string[];
}

export interface RecoverResult {
	nothing: boolean;
	verb: string;
	direction: 'forward' | 'back';
	name?: string;
	warnings?: string[];
}

export interface SetupResult {
	worktree: { name: string; path: string };
	created: boolean;
	config_path: string;
	review: boolean;
	seed: string;
	warnings?: string[];
}

export interface DiffResult {
	from: { id?: string; name?: string };
	to: { id?: string; name?: string; working?: boolean };
	files: FileChange[];
	file_count: number;
	tables: TableChange[];
	rows_known: boolean;
	definitions: DefinitionChange[];
	definitions_known: boolean;
}

/** What forklift/didRestore carries. */
export interface DidRestore {
	worktree: string;
	verb: string;
	name: string;
	files: { uri?: string; path: string; change: string }[];
	file_count: number;
}

/** What forklift/file tells of one file. */
export interface FileInfo {
	path: string;
	/** A capture would save it. */
	selected: boolean;
	checkpoints: { id: string; name: string; has: boolean; same: boolean }[];
}

/** What forklift/commands tells of .forklift.json. */
export interface ProjectCommands {
	commands: { name: string; argv: string[] }[];
	trusted: boolean;
}

/** Why a verb failed: the value of `error` of --json. */
export interface Failure {
	kind: string;
	op?: string;
	path?: string;
	message: string;
	hint?: string;
	items?: string[];
}
