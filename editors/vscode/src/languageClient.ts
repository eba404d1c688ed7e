/**
 * The language client, as a bundle of its own: it is most of the extension's
 * code, and is loaded when the server is started and not when the extension
 * is activated.
 */
export { LanguageClient, RevealOutputChannelOn, State, WorkDoneProgress } from 'vscode-languageclient/node';
