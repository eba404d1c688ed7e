package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forklift/engine"

	"github.com/jackc/pgx/v5"
)

// definitionBytes is how much of a definition's hash a map keeps, in
// hexadecimal digits: two versions of one object have the same by a chance of
// one in 2^48.
const definitionBytes = 12

// definitionsSQL hashes what the catalog says of everything that a user made
// and can change. It reads the catalog's rows as they are: the functions that
// print definitions lock what they print, and a server that is asked for its
// status must not wait for somebody's ALTER TABLE. What is an extension's counts
// as the extension. Owners, privileges and comments are not part of it.
const definitionsSQL = `
WITH own AS (
  SELECT c.oid, c.relkind, c.relam, c.reloptions, c.relrowsecurity, c.relforcerowsecurity, c.relpartbound::text AS bound,
         n.nspname || '.' || c.relname AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid >= 16384 AND c.relpersistence <> 't' AND c.relkind IN ('r', 'p', 'f', 'v', 'm', 'i', 'I', 'S', 'c') AND n.nspname !~ '^pg_'
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')
)
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'c' THEN 'type' ELSE 'table' END, name, pg_catalog.md5(ROW(
  reloptions, relrowsecurity, relforcerowsecurity, bound,
  (SELECT pg_catalog.array_agg(ROW(a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attidentity, a.attgenerated, a.attisdropped, a.attcollation, a.attstorage, d.adbin::text)::text ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = own.oid AND a.attnum > 0),
  (SELECT pg_catalog.array_agg(ROW(k.conname, k.contype, k.conkey, k.confrelid, k.confkey, k.confupdtype, k.confdeltype, k.condeferrable, k.condeferred, k.convalidated, k.conbin::text)::text ORDER BY k.conname)
   FROM pg_catalog.pg_constraint k WHERE k.conrelid = own.oid),
  (SELECT pg_catalog.array_agg(ROW(t.tgname, t.tgfoid, t.tgtype, t.tgenabled, t.tgattr, t.tgargs, t.tgqual::text)::text ORDER BY t.tgname)
   FROM pg_catalog.pg_trigger t WHERE t.tgrelid = own.oid AND NOT t.tgisinternal),
  (SELECT pg_catalog.array_agg(ROW(p.polname, p.polcmd, p.polpermissive, p.polroles, p.polqual::text, p.polwithcheck::text)::text ORDER BY p.polname)
   FROM pg_catalog.pg_policy p WHERE p.polrelid = own.oid),
  (SELECT pg_catalog.array_agg(ROW(r.rulename, r.ev_type, r.ev_enabled, r.is_instead, r.ev_qual::text, r.ev_action::text)::text ORDER BY r.rulename)
   FROM pg_catalog.pg_rewrite r WHERE r.ev_class = own.oid),
  (SELECT pg_catalog.array_agg(h.inhparent ORDER BY h.inhseqno) FROM pg_catalog.pg_inherits h WHERE h.inhrelid = own.oid))::text)
FROM own WHERE relkind NOT IN ('i', 'I', 'S')
UNION ALL
SELECT 'index', name, pg_catalog.md5(ROW(relam, reloptions, i.indrelid, i.indisunique, i.indnullsnotdistinct, i.indisprimary, i.indisexclusion, i.indisvalid,
  i.indkey, i.indcollation, i.indclass, i.indoption, i.indexprs::text, i.indpred::text)::text)
FROM own JOIN pg_catalog.pg_index i ON i.indexrelid = own.oid
UNION ALL
SELECT 'sequence', name, pg_catalog.md5(ROW(s.seqtypid, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle)::text)
FROM own JOIN pg_catalog.pg_sequence s ON s.seqrelid = own.oid
UNION ALL
SELECT CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END,
  n.nspname || '.' || p.proname || '(' || coalesce((
    SELECT pg_catalog.string_agg(CASE tn.nspname WHEN 'pg_catalog' THEN '' ELSE tn.nspname || '.' END || t.typname, ', ' ORDER BY o.n)
    FROM pg_catalog.unnest(p.proargtypes) WITH ORDINALITY o(t, n) JOIN pg_catalog.pg_type t ON t.oid = o.t JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace), '') || ')',
  pg_catalog.md5(ROW(p.prolang, p.prosecdef, p.proleakproof, p.proisstrict, p.proretset, p.provolatile, p.proparallel, p.procost, p.prorows, p.prorettype,
    p.proallargtypes, p.proargmodes, p.proargnames, p.proargdefaults::text, p.prosrc, p.probin, p.prosqlbody::text, p.proconfig)::text)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.oid >= 16384 AND n.nspname !~ '^pg_'
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e')
UNION ALL
SELECT CASE t.typtype WHEN 'd' THEN 'domain' ELSE 'type' END, n.nspname || '.' || t.typname, pg_catalog.md5(ROW(t.typbasetype, t.typtypmod, t.typnotnull, t.typdefault,
  (SELECT pg_catalog.array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid),
  (SELECT pg_catalog.array_agg(ROW(k.conname, k.convalidated, k.conbin::text)::text ORDER BY k.conname) FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid))::text)
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid >= 16384 AND t.typtype IN ('d', 'e') AND n.nspname !~ '^pg_'
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid AND d.deptype = 'e')
UNION ALL
SELECT 'schema', nspname, '' FROM pg_catalog.pg_namespace WHERE oid >= 16384 AND nspname !~ '^pg_'
UNION ALL
SELECT 'extension', extname, pg_catalog.md5(extversion) FROM pg_catalog.pg_extension WHERE oid >= 16384
LIMIT %d`

// observeDefinitions asks one database for the hashes of its definitions. More
// than a map holds are none: then nothing is said of them.
func observeDefinitions(ctx context.Context, conn *session, d *databaseMap) error {
	d.Definitions = map[string]string{}
	err := conn.rows(ctx, fmt.Sprintf(definitionsSQL, maxTables), func(rows pgx.Rows) error {
		var kind, name, sum string
		err := rows.Scan(&kind, &name, &sum)
		d.Definitions[kind+" "+name] = sum[:min(len(sum), definitionBytes)]
		return err
	})
	if len(d.Definitions) >= maxTables {
		d.Definitions = nil
	}
	return err
}

// Definitions compares the definitions that two table maps of one history tell.
// known is false where a map lacks them: older versions did not ask.
func (c *cluster) Definitions(before, after json.RawMessage) (list []engine.DefinitionChange, known bool, err error) {
	old, err := decodeTables(before)
	if err != nil {
		return nil, false, err
	}
	now, err := decodeTables(after)
	if err != nil {
		return nil, false, err
	}
	sides := map[string][2]*databaseMap{}
	for i := range old.Databases {
		sides[old.Databases[i].Name] = [2]*databaseMap{&old.Databases[i], nil}
	}
	for i := range now.Databases {
		name := now.Databases[i].Name
		sides[name] = [2]*databaseMap{sides[name][0], &now.Databases[i]}
	}
	known = len(old.Databases) > 0 && len(now.Databases) > 0
	for name, side := range sides {
		if side[0] == nil || side[1] == nil {
			continue // a database that was made or dropped: its tables are told
		}
		if side[0].Definitions == nil || side[1].Definitions == nil {
			known = false
			continue
		}
		list = append(list, redefined(name, side[0].Definitions, side[1].Definitions)...)
	}
	slices.SortFunc(list, func(a, b engine.DefinitionChange) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list, known, nil
}

// redefined compares the definitions of one database.
func redefined(database string, old, now map[string]string) []engine.DefinitionChange {
	var list []engine.DefinitionChange
	add := func(key, change string) {
		kind, name := splitDefinition(key)
		list = append(list, engine.DefinitionChange{Database: database, Kind: kind, Name: name, Change: change})
	}
	for key, sum := range now {
		switch was, ok := old[key]; {
		case !ok:
			add(key, engine.TableCreated)
		case was != sum:
			add(key, engine.DefinitionChanged)
		}
	}
	for key := range old {
		if _, ok := now[key]; !ok {
			add(key, engine.TableDropped)
		}
	}
	return list
}

// splitDefinition undoes what observeDefinitions joined; of the kinds only one
// has a space.
func splitDefinition(key string) (kind, name string) {
	const spaced = "materialized view"
	if rest, ok := strings.CutPrefix(key, spaced+" "); ok {
		return spaced, rest
	}
	kind, name, _ = strings.Cut(key, " ")
	return kind, name
}
