// Package postgres runs a worktree's PostgreSQL: unmodified, found on the
// machine or fetched, started and stopped without pg_ctl, and described so
// that the engine can save and restore its data directory. (More below.)
package postgres
