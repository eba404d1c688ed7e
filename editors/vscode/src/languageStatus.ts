/** Beside the language of the active file: whether checkpoints save it, and whether it changed. */
import { Disposable, type LanguageStatusItem, LanguageStatusSeverity, l10n, languages, window } from 'vscode';
import type { App } from './app';
import { failureOf } from './failure';
import type { FileInfo, Status } from './protocol';
import { pathIn } from './worktrees';

export class FileStatus implements Disposable {
	private readonly item: LanguageStatusItem;
	private readonly disposables: Disposable[];
	private asked = ''; // what the text is about

	constructor(private readonly app: App) {
		this.item = languages.createLanguageStatusItem('forklift.file', { scheme: 'file' });
		this.item.name = l10n.t('Forklift File');
		this.disposables = [this.item, app.worktrees.onDidChange(() => void this.update()), window.onDidChangeActiveTextEditor(() => void this.update())];
		this.show(l10n.t('No worktree of Forklift'), '');
	}

	private async update(): Promise<void> {
		const uri = window.activeTextEditor?.document.uri;
		const s = this.app.worktrees.of(uri);
		if (!uri || !s?.tracked) {
			this.asked = '';
			this.show(l10n.t('No worktree of Forklift'), '');
			return;
		}
		const path = pathIn(s, uri) ?? '';
		const change = s.files.find((f) => f.path === path)?.change;
		const key = JSON.stringify([uri.toString(), s.checkpoint?.id, change]);
		if (key === this.asked) {
			return;
		}
		this.asked = key;
		let selected = true;
		try {
			selected = (await this.app.server.request<FileInfo>('forklift/file', { uri: uri.toString() })).selected;
		} catch (e) {
			this.app.log.debug(`ask about ${path}: ${failureOf(e).message}`);
		}
		if (key === this.asked) {
			this.tell(s, selected, change);
		}
	}

	private tell(s: Status, selected: boolean, change: string | undefined): void {
		if (!selected) {
			this.show(l10n.t('Not in checkpoints'), l10n.t('.forklift.json does not select it'));
		} else if (!s.checkpoint) {
			this.show(l10n.t('In the next checkpoint'), '');
		} else if (change) {
			this.show(l10n.t('Changed since {0}', s.checkpoint.name), change);
			this.item.command = { command: 'forklift.compareFile', title: l10n.t('Compare') };
		} else {
			this.show(l10n.t('As in {0}', s.checkpoint.name), '');
		}
	}

	private show(text: string, detail: string): void {
		this.item.text = `$(repo-forked) ${text}`;
		this.item.detail = detail;
		this.item.severity = LanguageStatusSeverity.Information;
		this.item.command = undefined;
	}

	dispose(): void {
		Disposable.from(...this.disposables).dispose();
	}
}
