-- Many schemas: one per tenant, with roles, row security, large objects,
-- sequences of all sorts, settings of roles and of the database.
CREATE ROLE tenant_owner NOLOGIN;
CREATE ROLE tenant_app NOLOGIN;
CREATE ROLE tenant_reader NOLOGIN CONNECTION LIMIT 5;
GRANT tenant_reader TO tenant_app;
ALTER ROLE tenant_app SET statement_timeout = '30s';
CREATE TYPE public.money_amount AS (amount numeric, currency char(3));
CREATE SEQUENCE public.tickets INCREMENT BY 10 START 1000 CACHE 5;
CREATE SEQUENCE public.wheel MINVALUE 1 MAXVALUE 7 CYCLE;
GRANT USAGE ON SEQUENCE public.tickets, public.wheel TO tenant_app;
CREATE TABLE public.acknowledged (client int NOT NULL, n bigint NOT NULL, PRIMARY KEY (client, n));
GRANT INSERT, SELECT ON public.acknowledged TO tenant_app;
CREATE TABLE public.files (name text PRIMARY KEY, content oid NOT NULL);
GRANT SELECT, UPDATE ON public.files TO tenant_app;

DO $$
DECLARE t text;
BEGIN
  FOR i IN 1..12 LOOP
    t := 'tenant_' || i;
    EXECUTE format('CREATE SCHEMA %I AUTHORIZATION tenant_owner', t);
    EXECUTE format('CREATE TABLE %I.accounts (id int PRIMARY KEY, holder text NOT NULL, balance public.money_amount NOT NULL, visible bool NOT NULL)', t);
    EXECUTE format('CREATE TABLE %I.ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int NOT NULL REFERENCES %I.accounts, amount numeric NOT NULL, text text NOT NULL, at timestamptz NOT NULL DEFAULT now())', t, t);
    EXECUTE format('INSERT INTO %I.accounts SELECT g, md5(%L || g), ROW(g * 1.25, ''EUR'')::public.money_amount, g %% 3 <> 0 FROM generate_series(1, 1000) g', t, t);
    EXECUTE format('INSERT INTO %I.ledger (account, amount, text) SELECT 1 + g %% 1000, g * 0.5, md5(%L || g) || md5(g::text) FROM generate_series(1, 40000) g', t, t);
    EXECUTE format('CREATE INDEX ON %I.ledger (account, at)', t);
    EXECUTE format('CREATE VIEW %I.balances AS SELECT account, sum(amount) AS sum FROM %I.ledger GROUP BY account', t, t);
    EXECUTE format('ALTER TABLE %I.accounts ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY only_visible ON %I.accounts FOR SELECT TO tenant_app USING (visible)', t);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO tenant_app', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA %I TO tenant_app', t);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO tenant_app', t);
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO tenant_reader', t);
    EXECUTE format('COMMENT ON SCHEMA %I IS %L', t, 'tenant number ' || i);
  END LOOP;
  FOR i IN 1..150 LOOP
    INSERT INTO public.files VALUES ('file ' || i, lo_from_bytea(0, decode(repeat(md5(i::text), 8000), 'hex')));
  END LOOP;
END
$$;
DO $$
DECLARE o oid;
BEGIN
  FOR o IN SELECT content FROM public.files LOOP
    EXECUTE format('ALTER LARGE OBJECT %s OWNER TO tenant_app', o);
  END LOOP;
END
$$;
