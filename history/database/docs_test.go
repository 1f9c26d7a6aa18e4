package database

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestTheDocumentsQueries runs the queries of docs/history.md, with the text that Grafana substitutes for its macro.
func TestTheDocumentsQueries(t *testing.T) {
	t.Parallel()
	dsn := server.Server(t).Database(t)
	d := mysqlOf(t, dsn)
	migrate(t, d)
	text := reference.Block(t, "../../docs/history.md", "$__timeFilter")
	text = strings.ReplaceAll(text, "$__timeFilter(statistics_time)",
		"statistics_time BETWEEN FROM_UNIXTIME(1777636800) AND FROM_UNIXTIME(1777640400)")
	queries := strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";\n")
	if len(queries) < 2 {
		t.Errorf("only %d queries were found", len(queries))
	}
	for _, query := range queries {
		rows, err := d.db.QueryContext(t.Context(), query)
		if err != nil {
			t.Errorf("%v\nof\n%s", err, query)
			continue
		}
		for rows.Next() {
			t.Error("an empty history has a row")
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}
