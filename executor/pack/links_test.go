package pack_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// TestCacheLeadsNowhere: if a job replaces the cache's own folders by links, the store neither lists nor changes their
// targets, and no name in them is in a log or an error. Packages are still fetched.
func TestCacheLeadsNowhere(t *testing.T) {
	t.Parallel()
	url, _ := served(t, tarOf(t, plain("job.sh")))
	const name = "other-app"
	for _, folder := range []string{"content", "urls", "whole", "tmp", "locks", "private"} {
		for _, running := range []bool{false, true} {
			t.Run(folder+map[bool]string{true: " while it runs"}[running], func(t *testing.T) {
				t.Parallel()
				top := t.TempDir()
				cache, victim := filepath.Join(top, "cache"), filepath.Join(top, "victim")
				private := filepath.Join(top, "sandbox", "packages")
				secret := filepath.Join(victim, name, "secret")
				old := time.Now().Add(-24 * time.Hour)
				err := errors.Join(os.MkdirAll(filepath.Dir(secret), 0o700),
					os.MkdirAll(cache, 0o700), os.MkdirAll(filepath.Dir(private), 0o700),
					os.WriteFile(secret, []byte("hush"), 0o600),
					os.WriteFile(filepath.Join(victim, "1"), []byte("hush"), 0o600),
					os.Chtimes(filepath.Dir(secret), old, old))
				if err != nil {
					t.Fatal(err)
				}
				before := snapshot(t, victim)
				link := func() {
					t.Helper()
					at := filepath.Join(cache, folder)
					if folder == "private" {
						at = private
					}
					if err := errors.Join(os.RemoveAll(at), os.Symlink(victim, at)); err != nil {
						t.Fatal(err)
					}
				}
				var said bytes.Buffer
				if !running {
					link()
				}
				store, err := pack.Open(cache, private, pack.Defaults(), slog.New(slog.NewTextHandler(&said, nil)))
				if err != nil {
					t.Fatal(err)
				}
				if running {
					link()
				}
				for _, kept := range []bool{true, false} {
					got, err := store.Get(t.Context(), pack.Source{URL: url, Cache: kept})
					if err != nil {
						t.Fatalf("kept: %t: %v", kept, err)
					}
					if text, err := os.ReadFile(filepath.Join(got.Dir, "job.sh")); err != nil || len(text) == 0 {
						t.Errorf("kept: %t: %q, %v", kept, text, err)
					}
					got.Release()
				}
				store.Close()
				if after := snapshot(t, victim); !maps.Equal(after, before) {
					t.Errorf("the victim is %q and was %q", after, before)
				}
				if strings.Contains(said.String(), name) {
					t.Errorf("the log or the error contains a name of the target: %s", &said)
				}
			})
		}
	}
}
