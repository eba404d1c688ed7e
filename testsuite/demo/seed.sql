-- The database that every worktree of the demonstration begins with, in the
-- form in which pg_dump writes one.
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;

CREATE TABLE public.migrations (
    name text NOT NULL PRIMARY KEY
);

CREATE TABLE public.invoices (
    id integer NOT NULL PRIMARY KEY,
    customer text NOT NULL,
    amount integer NOT NULL,
    paid boolean DEFAULT false NOT NULL
);

COPY public.migrations (name) FROM stdin;
001_invoices.sql
\.

COPY public.invoices (id, customer, amount, paid) FROM stdin;
1	Acme	120	t
2	Birch	100	f
3	Cedar	75	f
\.
