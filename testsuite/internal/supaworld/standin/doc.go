// Command standin plays Supabase's Auth, Storage and REST services, and any
// other service as one that is only healthy, for the tests of Forklift. Its
// first argument says which service it is.
//
// It is no Supabase: it knows the requests that the tests and supabase-js
// make. But it keeps its state where the real services do. Auth has its users
// in the schema auth, passwords as bcrypt hashes, and gives out JWTs that the
// other two verify. Storage has its objects' rows in the schema storage, and
// their bytes below FILE_STORAGE_BACKEND_PATH with content type, cache-control
// and etag as extended attributes. REST answers for tables as the role that the
// token names, so row-level security holds.
//
// Each request opens a connection of its own and closes it: nothing holds a
// connection while nobody asks.
package main
