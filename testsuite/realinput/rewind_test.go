package realinput

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"forklift/testsuite/internal/harness"
)

// rounds is how often each schema is captured and rewound.
func rounds() int {
	if everything {
		return 50
	}
	return 2
}

// TestRewindUnderLoad is the story of doc.go on each schema.
func TestRewindUnderLoad(t *testing.T) {
	for name, work := range map[string]transaction{"orders": order, "documents": document, "tenants": post} {
		t.Run(name, func(t *testing.T) { rewind(t, name, work) })
	}
}

func rewind(t *testing.T, name string, work transaction) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 99))
	w := newWorld(t, name)
	w.forklift("db", "start")
	t.Logf("the database has %s bytes", strings.TrimSpace(w.query("SELECT sum(pg_database_size(oid)) FROM pg_database")))
	c := newClients(t, w, seed, work)
	defer w.forklift("db", "stop")
	for round := range rounds() {
		w.Write(t, fmt.Sprintf("src/f%d.txt", r.IntN(8)), fmt.Sprintf("round %d\n", round))
		checkpoint := fmt.Sprintf("round-%d", round)
		c.goOn(5)
		w.forklift("capture", checkpoint, "--disconnect", "--wait", "30s")
		c.waitParked()
		c.kept("after the capture")
		captured, dumped, files := c.count(), w.dump("captured.sql"), w.files()
		c.rewound(captured)

		c.goOn(10)
		w.Write(t, fmt.Sprintf("src/g%d.txt", r.IntN(8)), fmt.Sprintf("after %d\n", round))
		later := w.files()
		w.forklift("restore", checkpoint, "--disconnect", "--wait", "30s")
		c.waitParked()
		w.sameDump("captured.sql", dumped, "after the restore")
		if d := harness.FirstDifference(w.files(), files); d != "" {
			t.Fatalf("after the restore the files differ: %s", d)
		}

		w.forklift("undo")
		c.kept("after the undo")
		if d := harness.FirstDifference(w.files(), later); d != "" {
			t.Fatalf("after the undo the files differ: %s", d)
		}
		if round%2 == 0 { // half of the rounds go on from the past
			w.forklift("redo")
			w.sameDump("captured.sql", dumped, "after the redo")
		}
		c.rewound(c.count())
	}
	t.Logf("%d rounds; the clients were cut off %d times", rounds(), 2*rounds())
}

// order places an order, or changes or removes an old one.
func order(ctx context.Context, tx pgx.Tx, r *rand.Rand) error {
	switch r.IntN(5) {
	case 0:
		_, err := tx.Exec(ctx, "UPDATE shop.orders SET state = 'paid', note = md5(random()::text) WHERE id = $1", 1+r.IntN(200000))
		return err
	case 1:
		_, err := tx.Exec(ctx, "DELETE FROM shop.orders WHERE id = $1", 1+r.IntN(200000))
		return err
	}
	var id int64
	placed := time.Date(2025, 1, 1+r.IntN(700), 0, 0, 0, 0, time.UTC)
	err := tx.QueryRow(ctx, "INSERT INTO shop.orders (placed, customer) VALUES ($1, $2) RETURNING id", placed, 1+r.IntN(80000)).Scan(&id)
	if err != nil {
		return err
	}
	first := r.IntN(4990) // products in order, so that two clients never wait for each other in a circle
	for line := range 1 + r.IntN(4) {
		if _, err := tx.Exec(ctx, "INSERT INTO shop.order_lines VALUES ($1, $2, $3, $4, $5, 250)", id, placed, line+1, first+line+1, 1+r.IntN(3)); err != nil {
			return err
		}
	}
	return nil
}

// document writes or removes a document, or finds the next neighbour of a
// vector and counts that it was seen.
func document(ctx context.Context, tx pgx.Tx, r *rand.Rand) error {
	switch r.IntN(4) {
	case 0:
		_, err := tx.Exec(ctx, "DELETE FROM documents WHERE id = $1", 1+r.IntN(25000))
		return err
	case 1:
		_, err := tx.Exec(ctx, `UPDATE documents SET seen = seen + 1 WHERE id = (
			SELECT id FROM documents ORDER BY embedding <=> (SELECT array_agg(sin($1::float * i))::vector FROM generate_series(1, 256) i) LIMIT 1)`, r.Float64()*6)
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO documents (collection, title, body, embedding)
		SELECT 1 + $1::int % 64, 'new ' || md5($1::int::text), repeat(md5($1::int::text), 30), array_agg(cos($1::int * 0.01 + i))::vector FROM generate_series(1, 256) i`, r.IntN(1<<30))
	return err
}

// post books an amount as a tenant's application, and writes to a file.
func post(ctx context.Context, tx pgx.Tx, r *rand.Rand) error {
	tenant := pgx.Identifier{fmt.Sprintf("tenant_%d", 1+r.IntN(12))}.Sanitize()
	if _, err := tx.Exec(ctx, "SET LOCAL ROLE tenant_app"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO "+tenant+".ledger (account, amount, text) VALUES ($1, nextval('tickets'), 'wheel ' || nextval('wheel'))", 1+r.IntN(1000)); err != nil {
		return err
	}
	if r.IntN(3) == 0 {
		// The row's lock first: PostgreSQL refuses two writers of one page of a
		// large object ("tuple concurrently updated") instead of letting one wait.
		_, err := tx.Exec(ctx, `SELECT lo_put(content, $2, decode(md5(random()::text), 'hex'))
			FROM (SELECT content FROM files WHERE name = $1 FOR UPDATE) AS file`, fmt.Sprintf("file %d", 1+r.IntN(150)), r.IntN(100000))
		return err
	}
	return nil
}
