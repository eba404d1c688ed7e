// Package sqlshell is a small SQL prompt, for machines that have no psql.
//
// It reads lines, collects them until a statement ends with a semicolon
// outside of quotes, comments and parentheses, sends the statement as text
// and prints the rows as a table, as psql does. It knows four commands of
// psql: \q, \?, \l and \d. Results go to one writer, notices and errors to
// another. On a terminal an error leaves the prompt open; otherwise the first
// one ends the input.
package sqlshell
