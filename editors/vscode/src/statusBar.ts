/** The one item in the status bar: where the worktree is, and how far from there. */
import { Disposable, MarkdownString, StatusBarAlignment, ThemeColor, type StatusBarItem, l10n, window } from 'vscode';
import type { Status } from './protocol';
import type { Phase, Server } from './server';
import { ago, changes, some, statusLine, tableCounts } from './text';
import type { Worktrees } from './worktrees';

/** Left, and left of the messages of languages. */
const PRIORITY = 50;

export class StatusBar implements Disposable {
	private readonly item: StatusBarItem;
	private readonly subscription: Disposable;

	constructor(
		private readonly server: Server,
		private readonly worktrees: Worktrees,
	) {
		this.item = window.createStatusBarItem('forklift.status', StatusBarAlignment.Left, PRIORITY);
		this.item.name = l10n.t('Forklift Checkpoint');
		this.subscription = worktrees.onDidChange(() => this.render());
		this.render();
	}

	private render(): void {
		const s = this.worktrees.active();
		const many = this.worktrees.tracked().length > 1;
		this.item.backgroundColor = undefined;
		this.item.command = 'forklift.showActions';
		if (this.server.phase !== 'running' || !s) {
			this.renderPhase();
			return;
		}
		let icon = '$(repo-forked)';
		if (s.interrupted) {
			icon = '$(error)';
			this.item.command = 'forklift.recover';
			this.item.backgroundColor = new ThemeColor('statusBarItem.errorBackground');
		} else if (s.operation) {
			icon = '$(sync~spin)';
		} else if (s.tracked && s.problems?.length) {
			icon = '$(warning)';
			this.item.backgroundColor = new ThemeColor('statusBarItem.warningBackground');
		}
		const line = many && s.tracked ? `${s.worktree.name}: ${statusLine(s)}` : statusLine(s);
		this.item.text = `${icon} ${line}`;
		this.item.tooltip = tooltip(s);
		this.item.accessibilityInformation = { label: l10n.t('Forklift: {0}', line), role: 'button' };
		this.item.show();
	}

	private renderPhase(): void {
		const phase = this.server.phase;
		if (phase === 'noFolder') {
			this.item.hide();
			return;
		}
		const looks: Record<Exclude<Phase, 'noFolder'>, [icon: string, text: string, command: string]> = {
			untrusted: ['$(shield)', l10n.t('untrusted'), 'workbench.trust.manage'],
			noBinary: ['$(warning)', this.server.tooOld ? l10n.t('forklift too old') : l10n.t('forklift not found'), 'forklift.choosePath'],
			failed: ['$(error)', l10n.t('forklift failed'), 'forklift.showLog'],
			paused: ['$(debug-pause)', l10n.t('paused'), 'forklift.resume'],
			starting: ['$(sync~spin)', l10n.t('starting'), 'forklift.showActions'],
			running: ['$(sync~spin)', l10n.t('looking'), 'forklift.showActions'],
		};
		const [icon, text, command] = looks[phase];
		this.item.text = `${icon} ${text}`;
		this.item.command = command;
		const tip = new MarkdownString(undefined, true);
		tip.isTrusted = { enabledCommands: ['forklift.restart', 'forklift.resume', 'forklift.showLog', 'workbench.trust.manage'] };
		tip.appendText(phase === 'untrusted' ? l10n.t('Forklift waits until this workspace is trusted.') : this.server.reason || `Forklift: ${text}`);
		const log = link(l10n.t('Log'), 'forklift.showLog');
		const links: Partial<Record<Phase, string[]>> = {
			untrusted: [link(l10n.t('Manage trust'), 'workbench.trust.manage')],
			paused: [link(l10n.t('Resume'), 'forklift.resume'), log],
		};
		tip.appendMarkdown(`\n\n${(links[phase] ?? [log, link(l10n.t('Restart'), 'forklift.restart')]).join(' · ')}`);
		this.item.tooltip = tip;
		this.item.backgroundColor =
			phase === 'failed' ? new ThemeColor('statusBarItem.errorBackground') : phase === 'noBinary' ? new ThemeColor('statusBarItem.warningBackground') : undefined;
		this.item.accessibilityInformation = { label: l10n.t('Forklift: {0}', text), role: 'button' };
		this.item.show();
	}

	dispose(): void {
		this.subscription.dispose();
		this.item.dispose();
	}
}

const link = (title: string, command: string) => `[${title}](command:${command})`;

const tooltipCommands = ['capture', 'restore', 'undo', 'recover', 'setUp', 'trust', 'compareWorktree', 'showLog', 'restart', 'pause'].map((c) => `forklift.${c}`);

function tooltip(s: Status): MarkdownString {
	const tip = new MarkdownString(undefined, true);
	tip.isTrusted = { enabledCommands: tooltipCommands };
	const links: string[] = [];
	const offer = (title: string, command: string) => links.push(link(title, `forklift.${command}`));
	if (!s.tracked) {
		tip.appendText((s.problems ?? []).join('\n'));
		offer(l10n.t('Set up'), 'setUp');
	} else if (s.interrupted) {
		tip.appendText(
			s.interrupted.forward
				? l10n.t('The {0} of {1} was cut off. Recover finishes it.', s.interrupted.verb, s.interrupted.target)
				: l10n.t('The {0} of {1} was cut off. Recover takes it back.', s.interrupted.verb, s.interrupted.target),
		);
		offer(l10n.t('Recover'), 'recover');
	} else {
		facts(tip, s);
		offer(l10n.t('Capture'), 'capture');
		if (s.checkpoint) {
			offer(l10n.t('Compare'), 'compareWorktree');
			offer(l10n.t('Restore'), 'restore');
			offer(l10n.t('Undo'), 'undo');
		}
		if (!s.trusted) {
			offer(l10n.t('Trust'), 'trust');
		}
	}
	tip.appendMarkdown(`\n\n${links.join(' · ')}`);
	links.length = 0; // a line of their own: they are about Forklift, and not about the worktree
	offer(l10n.t('Log'), 'showLog');
	offer(l10n.t('Restart'), 'restart');
	offer(l10n.t('Pause'), 'pause');
	tip.appendMarkdown(`\n\n${links.join(' · ')}`);
	return tip;
}

function facts(tip: MarkdownString, s: Status): void {
	const add = (text: string) => tip.appendText(text).appendMarkdown('\n\n');
	add(l10n.t('Worktree {0}', s.worktree.name));
	if (s.checkpoint) {
		add(l10n.t('At checkpoint {0}, {1}', s.checkpoint.name, ago(s.checkpoint.created)));
		add(changes(s) || (s.files_known ? l10n.t('Nothing changed since.') : l10n.t('Looking at the files...')));
		if (s.tables.length > 0) {
			add(some(s.tables.map((t) => `${t.table}  ${tableCounts(t)}`), s.tables.length, 5));
		}
	}
	add(l10n.t('Database: {0}', s.server.state));
	for (const problem of s.problems ?? []) {
		add(problem);
	}
	if (!s.trusted) {
		add(l10n.t('What .forklift.json would run is not approved.'));
	}
}
