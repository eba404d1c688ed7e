// Package supabase tells the stories of a Supabase project under Forklift: the
// real Supabase CLI and PostgreSQL, with stand-ins for Auth, Storage and REST
// (package supaworld says what is real). The stories run the forklift command
// as a user does: what was signed up, uploaded, inserted and migrated is put
// back with the code; two worktrees have stacks of their own; the user's own
// `supabase` reaches the worktree's stack; projects of several shapes are set
// up; a migration that fails leaves nothing behind; and Forklift, killed at its
// steps, ends before or after with all four parts. FORKLIFT_TORTURE=all takes
// every step.
//
// With the build tag live the main story is told against Supabase's real
// archives, which are downloaded then (make test-supabase-live); with the tag
// figures times and sizes are measured (make bench-supabase).
package supabase
