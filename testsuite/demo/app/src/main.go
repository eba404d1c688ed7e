// Command src is the invoicing application of the demonstration: it applies
// the migrations that its database has not seen, and then lists invoices or
// records that one was paid.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// actions are the program's subcommands.
var actions = map[string]func(ctx context.Context, db *pgx.Conn, args []string) error{
	"list": list,
	"pay":  pay,
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	db, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	if err := migrate(ctx, db); err != nil {
		log.Fatal(err)
	}
	action := "list"
	if len(os.Args) > 1 {
		action = os.Args[1]
	}
	if actions[action] == nil {
		log.Fatalf("no such action: %s", action)
	}
	if err := actions[action](ctx, db, os.Args[min(len(os.Args), 2):]); err != nil {
		log.Fatal(err)
	}
}

// migrate applies the files of migrations/ that the database has not seen.
func migrate(ctx context.Context, db *pgx.Conn) error {
	if _, err := db.Exec(ctx, `CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY)`); err != nil {
		return err
	}
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		tag, err := db.Exec(ctx, `INSERT INTO migrations VALUES ($1) ON CONFLICT DO NOTHING`, name)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := db.Exec(ctx, string(text), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println("migrated:", name)
	}
	return nil
}

// list prints the invoices and what is still outstanding.
func list(ctx context.Context, db *pgx.Conn, args []string) error {
	rows, err := db.Query(ctx, `SELECT id, customer, amount, CASE WHEN paid THEN 0 ELSE amount END FROM invoices ORDER BY id`)
	if err != nil {
		return err
	}
	var id, amount, open, outstanding int
	var customer string
	_, err = pgx.ForEachRow(rows, []any{&id, &customer, &amount, &open}, func() error {
		fmt.Printf("invoice %d  %-6s %4d $, open %3d $\n", id, customer, amount, open)
		outstanding += open
		return nil
	})
	fmt.Printf("outstanding: %d $\n", outstanding)
	return err
}

// pay records that an invoice was paid.
func pay(ctx context.Context, db *pgx.Conn, args []string) error {
	_, err := db.Exec(ctx, `UPDATE invoices SET paid = true WHERE id = $1::text::int`, args[0])
	return err
}
