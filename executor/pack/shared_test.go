package pack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// TestUnusedPackageGoesAtOnce: however long a package's removal takes, its name never leads to a part of the package.
// Otherwise, after a kill, another executor would take the part for the whole package.
func TestUnusedPackageGoesAtOnce(t *testing.T) {
	t.Parallel()
	const n = 1000
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = plain(fmt.Sprint(i))
	}
	url, _ := served(t, tarOf(t, entries...))
	cache := t.TempDir()
	first, err := pack.Open(cache, t.TempDir(), pack.Defaults(), discard)
	if err != nil {
		t.Fatal(err)
	}
	dir := get(t, first, pack.Source{URL: url, Cache: true})
	first.Close()
	old := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(cache, "locks", "content-"+filepath.Base(dir)), old, old); err != nil {
		t.Fatal(err)
	}
	pruned := make(chan *pack.Store)
	go func() {
		store, err := pack.Open(cache, filepath.Join(cache, "private"), pack.Defaults(), discard)
		if err != nil {
			t.Error(err)
		}
		pruned <- store
	}()
	for done := false; !done; {
		select {
		case store := <-pruned:
			store.Close()
			done = true
		default:
		}
		before, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		found, _ := os.ReadDir(dir)
		after, err := os.Lstat(dir)
		if err == nil && os.SameFile(before, after) && len(found) != n {
			t.Fatalf("the name leads to %d files of %d", len(found), n)
		}
	}
	mustHold(t, filepath.Join(cache, "content"), 0)
	mustHold(t, filepath.Join(cache, "whole"), 0)
	mustHold(t, filepath.Join(cache, "tmp"), 0)
}

// TestLongNames: a package of a single file may have any file name.
func TestLongNames(t *testing.T) {
	t.Parallel()
	for _, length := range []int{150, 151, 201, 255} {
		name := strings.Repeat("日", length/3) + strings.Repeat("x", length%3)
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
		store := open(t, t.TempDir(), pack.Defaults())
		for _, cache := range []bool{false, true, true} {
			dir := get(t, store, pack.Source{URL: "file://" + file, Cache: cache})
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != body {
				t.Errorf("%d bytes, cache %v: %v", length, cache, err)
			}
		}
	}
}

// TestFrozenExecutor: if another executor keeps a package locked for longer than a fetch may take, this executor
// fetches a copy of its own.
func TestFrozenExecutor(t *testing.T) {
	t.Parallel()
	cache, private := t.TempDir(), t.TempDir()
	source := pack.Source{URL: "file://" + filepath.Join(t.TempDir(), "job.sh"), Cache: true}
	if err := os.WriteFile(strings.TrimPrefix(source.URL, "file://"), []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		store, err := pack.Open(cache, private, pack.Defaults(), discard)
		if err != nil {
			t.Fatal(err)
		}
		get(t, store, source)
		store.Close()
		locks, err := filepath.Glob(filepath.Join(cache, "locks", "url-*"))
		if err != nil || len(locks) != 1 {
			t.Fatal(locks, err)
		}
		held, err := os.Open(locks[0])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Close() }()
		if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if store, err = pack.Open(cache, private, pack.Defaults(), discard); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for range 2 {
			dir := get(t, store, source)
			if text, err := os.ReadFile(filepath.Join(dir, "job.sh")); err != nil || string(text) != body ||
				!strings.HasPrefix(dir, private) {
				t.Errorf("%s: %v", dir, err)
			}
		}
		if took := time.Since(begun); took < 75*time.Minute || took > 90*time.Minute {
			t.Errorf("waited for %v", took)
		}
		store.Close()
		mustHold(t, private, 0)
	})
}

// TestPipesInTheCache: pipes that a task has put in the place of the store's own files do not block the store.
func TestPipesInTheCache(t *testing.T) {
	t.Parallel()
	url, _ := served(t, []byte(body))
	source, cache := pack.Source{URL: strings.Replace(url, "app.tar", "job.sh", 1), Cache: true}, t.TempDir()
	get(t, open(t, cache, pack.Defaults()), source)
	for _, folder := range []string{"urls", "whole", "tmp"} {
		files, err := filepath.Glob(filepath.Join(cache, folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(files, filepath.Join(cache, folder, "more")) {
			_ = os.Remove(file)
			if err := mkfifo(file); err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := get(t, open(t, cache, pack.Defaults()), source)
	if text, err := os.ReadFile(filepath.Join(dir, "job.sh")); err != nil || string(text) != body {
		t.Error(err)
	}
}
