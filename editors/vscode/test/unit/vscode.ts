/** A stand-in for the parts of the editor's API that the tested modules use. */
export const l10n = {
	t: (text: string, ...args: unknown[]): string => text.replace(/\{(\d+)\}/g, (_, n: string) => String(args[Number(n)])),
};
