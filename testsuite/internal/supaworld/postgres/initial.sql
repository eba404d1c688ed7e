-- What a plain PostgreSQL needs so that the CLI and the services take it for
-- Supabase's. Read by a single-user server: an empty line ends a statement.

CREATE ROLE postgres SUPERUSER CREATEDB CREATEROLE REPLICATION BYPASSRLS LOGIN;

CREATE ROLE anon NOLOGIN;

CREATE ROLE authenticated NOLOGIN;

CREATE ROLE service_role NOLOGIN BYPASSRLS;

CREATE ROLE authenticator LOGIN NOINHERIT;

GRANT anon, authenticated, service_role TO authenticator, postgres;

CREATE ROLE supabase_auth_admin LOGIN NOINHERIT CREATEROLE;

ALTER ROLE supabase_auth_admin SET search_path = auth;

CREATE ROLE supabase_storage_admin LOGIN NOINHERIT CREATEROLE;

ALTER ROLE supabase_storage_admin SET search_path = storage;

GRANT anon, authenticated, service_role TO supabase_storage_admin;

CREATE ROLE pgbouncer LOGIN;

CREATE ROLE supabase_replication_admin LOGIN REPLICATION;

CREATE ROLE supabase_read_only_user LOGIN BYPASSRLS;

CREATE ROLE dashboard_user NOLOGIN CREATEDB CREATEROLE REPLICATION;

CREATE SCHEMA extensions;

CREATE EXTENSION pgcrypto SCHEMA extensions;

CREATE EXTENSION "uuid-ossp" SCHEMA extensions;

CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin;

CREATE SCHEMA storage AUTHORIZATION supabase_storage_admin;

CREATE SCHEMA vault;

CREATE SCHEMA graphql_public;

GRANT USAGE ON SCHEMA public, extensions, auth, storage TO postgres, anon, authenticated, service_role, supabase_auth_admin, supabase_storage_admin;

GRANT ALL ON SCHEMA auth, storage TO postgres;

GRANT CREATE ON DATABASE postgres TO supabase_auth_admin, supabase_storage_admin;

ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA public GRANT ALL ON TABLES TO anon, authenticated, service_role;

ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA public GRANT ALL ON SEQUENCES TO anon, authenticated, service_role;

ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA public GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role;

CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS 'SELECT (nullif(current_setting(''request.jwt.claims'', true), '''')::jsonb ->> ''sub'')::uuid';

CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS 'SELECT nullif(current_setting(''request.jwt.claims'', true), '''')::jsonb ->> ''role''';

CREATE FUNCTION auth.email() RETURNS text LANGUAGE sql STABLE AS 'SELECT nullif(current_setting(''request.jwt.claims'', true), '''')::jsonb ->> ''email''';

ALTER FUNCTION auth.uid() OWNER TO supabase_auth_admin;

ALTER FUNCTION auth.role() OWNER TO supabase_auth_admin;

ALTER FUNCTION auth.email() OWNER TO supabase_auth_admin;

ALTER DATABASE postgres SET search_path = public, extensions;

