package postgres

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forklift/engine"
)

func TestTableFiles(t *testing.T) {
	encode := func(rels, owners map[string]string) json.RawMessage {
		data, err := json.Marshal(tableMap{Format: observeFormat, Databases: []databaseMap{{OID: 16400, Name: "app", Rels: rels, Owners: owners}}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	before := encode(map[string]string{"16500": "public.t", "16501": "public.t_pkey", "16502": "public.gone", "16503": "public.cut", "16504": "pg_toast.pg_toast_1"},
		map[string]string{"16501": "public.t", "16504": "public.t"})
	after := encode(map[string]string{"16500": "public.t", "16600": "public.made", "16601": "public.cut"}, nil)
	both := func(path string) engine.ChangedFile {
		return engine.ChangedFile{Tree: treeName, Path: path, Old: true, New: true}
	}
	changed := []engine.ChangedFile{
		both("base/16400/16500.1"), both("base/16400/16504"), both("base/16400/16500_vm"), both("base/16400/1259"), both("base/16400/1249"),
		both("base/5/1259"), both("global/1262"), both("pg_wal/000000010000000000000001"), both("base/16400/16999"),
		{Tree: treeName, Path: "base/16400/16502", Old: true}, {Tree: treeName, Path: "base/16400/16600", New: true},
		{Tree: treeName, Path: "base/16400/16503", Old: true}, {Tree: treeName, Path: "base/16400/16601", New: true},
		{Tree: "other", Path: "base/16400/16500", Old: true},
	}
	c := &cluster{}
	got, err := c.TableFiles(before, after, changed)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.TableFile{
		{Database: "app", Table: "public.t", Change: engine.TableTouched}, {Database: "app", Change: engine.TableTouched},
		{Database: "app", Table: "relation 16999", Change: engine.TableTouched}, {Database: "app", Table: "public.gone", Change: engine.TableDropped},
		{Database: "app", Table: "public.made", Change: engine.TableCreated}, {Database: "app", Table: "public.cut", Change: engine.TableRewritten},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Where only the maps are known, as those of a running server.
	got, err = c.TableFiles(before, after, changed[:1])
	want = []engine.TableFile{want[0], want[5], want[3], want[4]}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// Where no server was asked, numbers are all there is.
	got, err = c.TableFiles(nil, nil, changed[:1])
	if diff := cmp.Diff([]engine.TableFile{{Database: "16400", Table: "relation 16500", Change: engine.TableTouched}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := c.TableFiles(json.RawMessage(`{"format":9}`), nil, nil); err == nil {
		t.Error("a map of a later format is read")
	}
}
