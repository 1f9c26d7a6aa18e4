package database

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// TestDatabaseThatIsEmpty checks that no new registry is created in place of one that existed before.
func TestDatabaseThatIsEmpty(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	file := filepath.Join(t.TempDir(), "seen.json")
	r, _ := lead(t, Options{DSN: dsn, Seen: file})
	closeOf(t, r)
	change(t, dsn, "DROP TABLE REGISTRY_ENTRY, REGISTRY_SHARED, REGISTRY_FENCE, REGISTRY_LEASE, REGISTRY_CANDIDATE, REGISTRY_VERSION")
	again := open(t, Options{DSN: dsn, Seen: file})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := again.Campaign(ctx, "127.0.0.1:8899"); err == nil {
		t.Error("a new registry was made")
	}
	if _, err := Backup(t.Context(), Options{DSN: dsn}); err == nil || !strings.Contains(err.Error(), "no registry") {
		t.Errorf("backup: %v", err)
	}
}

// TestBackupAndRestore checks that a backup has the same content in another database, which must be empty, and that
// servers recognize it as another registry.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	from, to := shared.Server(t).Database(t), shared.Server(t).Database(t)
	r, term := lead(t, Options{DSN: from})
	commit(t, term, write("/a", "1"), write("/a/b", "\x00\xff"), registry.Write{Path: "/empty"})
	if _, err := r.WriteShared(t.Context(), "access", []byte("keys"), registry.Absent()); err != nil {
		t.Fatal(err)
	}
	c, err := Backup(t.Context(), Options{DSN: from})
	if err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), Options{DSN: from}, c); err == nil {
		t.Error("restored over a registry")
	}
	if err := Restore(t.Context(), Options{DSN: to}, c); err != nil {
		t.Fatal(err)
	}
	restored, next := lead(t, Options{DSN: to})
	if next.Number() <= term.Number() {
		t.Errorf("term %d after term %d", next.Number(), term.Number())
	}
	for path, want := range map[string]string{"/a": "1", "/a/b": "\x00\xff", "/empty": ""} {
		wantValue(t, next, path, want)
	}
	if e, err := restored.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "keys" {
		t.Errorf("%s, %v", e.Value, err)
	}
	if next.lineage == term.lineage {
		t.Error("the restored registry can't be told from the other")
	}
}
