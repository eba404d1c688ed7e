// A client as apps have it: supabase-js, with the variables that Next.js apps
// read. "make" signs up, uploads and inserts; "look" prints what it sees.
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

const client = createClient(process.env.NEXT_PUBLIC_SUPABASE_URL, process.env.NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY, {
	auth: { persistSession: false, autoRefreshToken: false },
	realtime: { transport: ws },
});
const [, , what, email, password] = process.argv;

function must({ data, error }) {
	if (error) throw error;
	return data;
}

async function look() {
	const { error } = await client.auth.signInWithPassword({ email, password });
	if (error) return { refused: error.message };
	const notes = must(await client.from("notes").select("body"));
	const files = must(await client.storage.from("files").list("a"));
	const seen = [];
	for (const { name, metadata } of files) {
		const blob = must(await client.storage.from("files").download("a/" + name));
		seen.push({ name, text: await blob.text(), type: blob.type, cache: metadata.cacheControl });
	}
	return { notes, files: seen };
}

if (what === "make") {
	must(await client.auth.signUp({ email, password }));
	must(await client.storage.from("files").upload("a/letter.txt", "of " + email, { contentType: "text/x-letter", cacheControl: "123" }));
	must(await client.from("notes").insert({ body: "by " + email }));
}
console.log(JSON.stringify(await look()));
process.exit(0);
