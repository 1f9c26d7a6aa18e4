package database

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestTheDocumentsRightsAreEnough sets up databases as docs/registry-in-sql.md and docs/kubernetes.md tell
// administrators to, and leads with them.
func TestTheDocumentsRightsAreEnough(t *testing.T) {
	t.Parallel()
	_, quoted, _ := strings.Cut(reference.Block(t, "../../docs/kubernetes.md", "CREATE USER"), `"`)
	line, _, _ := strings.Cut(quoted, `"`)
	for from, text := range map[string]string{
		"registry-in-sql.md": reference.Block(t, "../../docs/registry-in-sql.md", "CREATE USER"),
		"kubernetes.md":      line,
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			// Use names of databases and users that no other test has, since all are on one server.
			name := "of_" + strings.NewReplacer("-", "_", ".md", "").Replace(from)
			mine := strings.NewReplacer("elasticjob", name, "'…'", "'very-secret'", "'PASSWORD'", "'very-secret'")
			text := mine.Replace(text)
			server := shared.Server(t)
			if _, err := server.Root(t).ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%v\nof\n%s", err, text)
			}
			_, led := lead(t, Options{DSN: server.DSN(name, "very-secret", name)})
			write := registry.Write{Path: "/scheduler/a", Value: []byte("b")}
			if err := led.Commit(t.Context(), []registry.Write{write}); err != nil {
				t.Errorf("commit: %v", err)
			}
		})
	}
}
