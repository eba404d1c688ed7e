package postgres

import (
	"reflect"
	"testing"

	"forklift/engine"
)

// TestDefinitionsOfOldMaps: a checkpoint of an older version tells nothing of
// definitions, and is read as before.
func TestDefinitionsOfOldMaps(t *testing.T) {
	c := &cluster{}
	const (
		old   = `{"format": 1, "databases": [{"oid": 5, "name": "app", "rels": {"16384": "public.t"}}]}`
		empty = `{"format": 1, "databases": [{"oid": 5, "name": "app", "rels": {}, "definitions": {}}]}`
		now   = `{"format": 1, "databases": [{"oid": 5, "name": "app", "rels": {}, "definitions":
			{"table public.t": "a", "materialized view public.m": "b", "function public.f(int4)": "c"}}, {"oid": 6, "name": "made", "rels": {}}]}`
		later = `{"format": 1, "databases": [{"oid": 5, "name": "app", "rels": {}, "definitions": {"table public.t": "x", "function public.f(int4)": "c"}}]}`
	)
	for _, sides := range [][2]string{{old, now}, {now, old}, {"", now}, {now, ""}} {
		if list, known, err := c.Definitions([]byte(sides[0]), []byte(sides[1])); err != nil || known || len(list) > 0 {
			t.Errorf("from %s to %s: %v, known %v, %v", sides[0], sides[1], list, known, err)
		}
	}
	if tables, err := c.TableFiles([]byte(old), []byte(now), nil); err != nil || len(tables) != 1 || tables[0].Change != engine.TableDropped {
		t.Errorf("tables by an old map: %v, %v", tables, err)
	}
	list, known, err := c.Definitions([]byte(empty), []byte(now))
	if err != nil || !known || len(list) != 3 || list[0].Change != engine.TableCreated {
		t.Errorf("from nothing: %v, known %v, %v", list, known, err)
	}
	list, known, err = c.Definitions([]byte(now), []byte(later))
	want := []engine.DefinitionChange{
		{Database: "app", Kind: "materialized view", Name: "public.m", Change: engine.TableDropped},
		{Database: "app", Kind: "table", Name: "public.t", Change: engine.DefinitionChanged},
	}
	if err != nil || !known || !reflect.DeepEqual(list, want) {
		t.Errorf("%v, known %v, %v", list, known, err)
	}
}
