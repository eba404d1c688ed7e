CREATE TABLE public.topics (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);

CREATE TABLE public.notes (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner uuid NOT NULL DEFAULT auth.uid() REFERENCES auth.users ON DELETE CASCADE,
	body text NOT NULL
);

ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_notes ON public.notes TO authenticated USING (owner = auth.uid()) WITH CHECK (owner = auth.uid());

GRANT SELECT ON public.topics TO reporter;

GRANT SELECT, INSERT, UPDATE, DELETE ON public.notes, public.topics TO authenticated, service_role;

GRANT SELECT ON public.notes, public.topics TO anon;
