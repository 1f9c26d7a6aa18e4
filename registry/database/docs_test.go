package database

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestTheDocumentsRightsAreEnough sets a database up as docs/registry-in-sql.md has its administrator do it, and leads with it.
func TestTheDocumentsRightsAreEnough(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	text := strings.ReplaceAll(reference.Block(t, "../../docs/registry-in-sql.md", "CREATE USER"), "IDENTIFIED BY '…'", "IDENTIFIED BY 'very-secret'")
	if _, err := server.Root(t).ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%v\nof\n%s", err, text)
	}
	_, led := lead(t, Options{DSN: server.DSN("elasticjob", "very-secret", "elasticjob")})
	if err := led.Commit(t.Context(), []registry.Write{{Path: "/scheduler/a", Value: []byte("b")}}); err != nil {
		t.Errorf("commit: %v", err)
	}
}
