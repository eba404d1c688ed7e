/** What the commands and views share. */
import type { ExtensionContext, LogOutputChannel } from 'vscode';
import type { Server } from './server';
import type { Worktrees } from './worktrees';

export interface App {
	context: ExtensionContext;
	log: LogOutputChannel;
	server: Server;
	worktrees: Worktrees;
}
