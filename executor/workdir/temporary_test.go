package workdir

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder is recognized as untouched by its change time; changes by a task are still detected.
func TestTemporariesAreUsedAgainEmpty(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, spoil := range map[string]func(path string) error{
		"nothing":  func(string) error { return nil },
		"a file":   func(path string) error { return os.WriteFile(filepath.Join(path, "file"), nil, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(filepath.Join(path, "folder"), 0o700) },
		"its mode": func(path string) error { return os.Chmod(path, 0o300) },
		"its time": func(path string) error {
			old := time.Now().Add(-time.Hour)
			return os.Chtimes(path, old, old)
		},
		"removed": os.Remove,
		"a link": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink(outside, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := New(Options{Sandbox: openSandbox(t), Dir: "tmp", Log: slog.New(slog.DiscardHandler)})
			begin := time.Now()
			for i := 0; i < 3 || time.Since(begin) < 2*minStampAge; i++ { // covers folders with and without a stamp
				for range 2 { // changed while in use, and by another task while free
					path, release, err := pool.Take("", "")
					if err != nil {
						t.Fatal(err)
					}
					info, err := os.Lstat(path)
					entries, unread := os.ReadDir(path)
					if err != nil || unread != nil || !info.IsDir() || info.Mode().Perm() != folderMode ||
						len(entries) != 0 {
						t.Fatalf("round %d: given %v with %v, %v, %v", i, info, entries, err, unread)
					}
					if i%2 == 0 {
						if err := spoil(path); err != nil {
							t.Fatal(err)
						}
					}
					release(Keep{})
					if i%3 == 0 {
						if _, err := os.Lstat(path); err == nil {
							if err := spoil(path); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
			}
			if pool.created != 1 {
				t.Errorf("made %d folders", pool.created)
			}
		})
	}
}
