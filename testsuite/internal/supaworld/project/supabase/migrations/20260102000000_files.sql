INSERT INTO storage.buckets (id, name, public) VALUES ('files', 'files', false);

CREATE POLICY own_files ON storage.objects TO authenticated USING (bucket_id = 'files' AND owner = auth.uid()) WITH CHECK (bucket_id = 'files');
