/**
 * The stories: what a user does with the extension in a real editor, with real
 * worktrees and a real PostgreSQL. They run one after the other in one
 * code-server; each has a repository of its own. test/run.sh runs them.
 */
import { after, before, describe } from 'node:test';
import { Editor } from './editor';
import { outsideStories } from './outside';
import { stateStories } from './states';
import { stories } from './stories';
import { trustStories } from './trust';
import { windowStories } from './windows';
import { World } from './world';

const world = new World();
const trusted = new Editor(world, 'trusted', false);
const careful = new Editor(world, 'careful', true);

describe('in VS Code', { concurrency: false }, () => {
	before(() => trusted.start());
	after(async () => {
		await trusted.close();
		await careful.close();
		world.close();
	});
	stories(world, trusted);
	outsideStories(world, trusted);
	stateStories(world, trusted);
	windowStories(world, trusted);
	trustStories(world, careful);
});
