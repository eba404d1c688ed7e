// Package front is what an editor starts: a process on stdin and stdout that
// stands for the daemon.
//
// It passes whole messages between the editor and the daemon, as they are, and
// keeps what is needed to begin again when the daemon dies: the editor's
// initialize, its later changes of workspace folders and settings, its open
// documents, and the requests and progress that are not finished. Then it
// answers the open requests with an error, ends the open progress, connects
// again (which starts a daemon when needed), sends all of that and tells the
// user once. A daemon that ended on purpose, because a newer one takes its
// place, is replaced without a word. After [maxRedials] times in a minute it
// gives up and ends, and the editor decides.
//
// What it sends again of a document is its text at the last save and then, if
// it was changed since, its present text: so the new daemon knows which
// buffers are unsaved.
//
// Nothing but frames is ever written to stdout. The rules of server/lsp hold:
// limits, a message that is not JSON ends the connection, the exit code is 0
// after shutdown and exit and 1 otherwise, and the end of the input or of the
// editor's process is the end.
package front
