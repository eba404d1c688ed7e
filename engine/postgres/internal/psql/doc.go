// Package psql runs plain SQL files as the program psql would, without it:
// what people write by hand, and what pg_dump and pg_dumpall write.
//
// A [Scanner] cuts a file into items: SQL statements, COPY statements with the
// data that follows them, and backslash commands. It knows what a semicolon
// can hide in: quoted strings of every kind, quoted names, dollar quotes,
// nested comments, parentheses, and BEGIN ATOMIC bodies of functions. The rules
// are those of PostgreSQL's src/fe_utils/psqlscan.l. Files are streamed: in
// memory are one statement, up to a limit, and a piece of COPY data.
//
// [Run] gives the items to a [Target], one after the other, and stops at the
// first error, which names file and line. Of the backslash commands those that
// dumps contain are carried out (\connect, \encoding, \restrict,
// \unrestrict, \quit), those that only change what a person sees are passed over,
// and all others are errors: guessing what they meant could load something
// else than psql would have. Variables are not substituted.
package psql
