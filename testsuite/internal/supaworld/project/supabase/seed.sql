INSERT INTO public.topics (name) VALUES ('garden'), ('kitchen');
