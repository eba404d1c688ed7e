package postgres

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"forklift/engine"
	"forklift/storage/fault"
)

// relationFile is a file of a relation: its database, its number, and its
// fork if it is not the main one; a segment's number may follow.
var relationFile = regexp.MustCompile(`^base/(\d+)/(\d+)(_(?:fsm|vm|init))?(?:\.\d+)?$`)

// firstUserOID is the first number that is not a system table's.
const firstUserOID = 16384

// TableFiles names the tables of files below base/. Indexes and TOAST tables
// count as the table that has them, as far as the maps tell. Free space and
// visibility maps are passed over. A table that only one map has, or that has
// a file of another name in each, is told even if no changed file shows it:
// those of a running server are not looked at.
func (c *cluster) TableFiles(before, after json.RawMessage, changed []engine.ChangedFile) ([]engine.TableFile, error) {
	old, err := decodeTables(before)
	if err != nil {
		return nil, err
	}
	now, err := decodeTables(after)
	if err != nil {
		return nil, err
	}
	var list []engine.TableFile
	index := map[engine.TableFile]int{} // without Change
	for _, f := range changed {
		m := relationFile.FindStringSubmatch(f.Path)
		if f.Tree != treeName || m == nil || m[3] == "_fsm" || m[3] == "_vm" {
			continue
		}
		t, owned := nameTable(old, now, m[1], m[2])
		if t.Database == "" {
			continue // a template, or a database that nobody could connect to
		}
		change := engine.TableTouched
		if !owned {
			change = changeOf(old, now, t, f)
		}
		if i, ok := index[t]; ok {
			if list[i].Change == engine.TableTouched {
				list[i].Change = change
			}
			continue
		}
		index[t] = len(list)
		t.Change = change
		list = append(list, t)
	}
	for _, t := range moved(old, now) {
		key := engine.TableFile{Database: t.Database, Table: t.Table}
		if i, ok := index[key]; ok {
			list[i].Change = t.Change
		} else {
			list = append(list, t)
		}
	}
	return list, nil
}

// moved compares two maps: tables that were made, dropped or rewritten. A map
// that was cut off at maxTables tells nothing.
func moved(old, now tableMap) []engine.TableFile {
	var list []engine.TableFile
	for _, was := range old.Databases {
		for _, is := range now.Databases {
			if was.OID != is.OID || len(was.Rels) >= maxTables || len(is.Rels) >= maxTables {
				continue
			}
			before, after := was.files(), is.files()
			for name, file := range after {
				switch b, ok := before[name]; {
				case !ok:
					list = append(list, engine.TableFile{Database: is.Name, Table: name, Change: engine.TableCreated})
				case b != file:
					list = append(list, engine.TableFile{Database: is.Name, Table: name, Change: engine.TableRewritten})
				}
			}
			for name := range before {
				if _, ok := after[name]; !ok {
					list = append(list, engine.TableFile{Database: is.Name, Table: name, Change: engine.TableDropped})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b engine.TableFile) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Table, b.Table))
	})
	return list
}

// files leads from the names of tables to their files, without what belongs
// to another one.
func (d databaseMap) files() map[string]string {
	m := map[string]string{}
	for file, name := range d.Rels {
		if d.Owners[file] == "" {
			m[name] = file
		}
	}
	return m
}

// nameTable names the table of a file; Table is "" for a system table. owned
// says that the file is of an index or a TOAST table of that table.
func nameTable(old, now tableMap, database, file string) (t engine.TableFile, owned bool) {
	for _, m := range []tableMap{now, old} {
		for _, d := range m.Databases {
			if strconv.FormatUint(uint64(d.OID), 10) != database {
				continue
			}
			t.Database = d.Name
			if owner := d.Owners[file]; owner != "" {
				t.Table = owner
				return t, true
			}
			if name := d.Rels[file]; name != "" {
				t.Table = name
				return t, false
			}
		}
	}
	// In no map: a system table, or one that was made since a server was asked.
	if n, err := strconv.ParseUint(file, 10, 32); err == nil && n >= firstUserOID {
		t.Table = "relation " + file
		if t.Database == "" && len(old.Databases)+len(now.Databases) == 0 {
			t.Database = database
		}
	}
	return t, false
}

// changeOf tells how a table's file differs, by who has the table's name.
func changeOf(old, now tableMap, t engine.TableFile, f engine.ChangedFile) string {
	was, is := old.has(t), now.has(t)
	switch {
	case t.Table == "" || f.Old && f.New:
		return engine.TableTouched
	case len(old.Databases) == 0 || len(now.Databases) == 0:
		return engine.TableTouched
	case !was && is:
		return engine.TableCreated
	case was && !is:
		return engine.TableDropped
	}
	return engine.TableRewritten
}

// has reports whether a map has a table of the name.
func (m tableMap) has(t engine.TableFile) bool {
	for _, d := range m.Databases {
		if d.Name != t.Database {
			continue
		}
		for _, name := range d.Rels {
			if name == t.Table {
				return true
			}
		}
	}
	return false
}

func decodeTables(data json.RawMessage) (tableMap, error) {
	var m tableMap
	if len(data) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Format != observeFormat {
		return tableMap{}, &fault.Error{Op: "read table map", Kind: fault.Unsupported, Err: fmt.Errorf("format %d is unknown (%w)", m.Format, err)}
	}
	return m, nil
}
