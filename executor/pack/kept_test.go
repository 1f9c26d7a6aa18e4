package pack_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// served is a package on a server that counts how often it sends the whole of it.
func served(t *testing.T, data []byte) (url string, sent *atomic.Int32) {
	t.Helper()
	sent = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent.Add(1)
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/app.tar", sent
}

var discard = slog.New(slog.DiscardHandler)

func get(t testing.TB, store *pack.Store, source pack.Source) string {
	t.Helper()
	got, err := store.Get(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	return got.Dir
}

// TestDamagedPackageIsMended: what somebody removed of a kept package is fetched again, by the executor that has it in
// use when a look at its folder shows it, and by the next one in any case. What tasks added stays.
func TestDamagedPackageIsMended(t *testing.T) {
	t.Parallel()
	archive := tarOf(t, entry{name: "run.sh", content: body, mode: 0o755}, entry{name: "lib/deep/a", content: "a", mode: 0o644},
		entry{name: "lib/b", content: "b", mode: 0o644}, symlink("link", "lib/b"))
	whole := map[string]string{"run.sh": "-r-xr-xr-x " + body, "lib": "drwxr-xr-x", "lib/b": "-r--r--r-- b",
		"lib/deep": "drwxr-xr-x", "lib/deep/a": "-r--r--r-- a", "link": "-> lib/b"}
	remove := func(names ...string) func(string) error {
		return func(dir string) error {
			for _, name := range names {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		damage  func(dir string) error
		noticed bool // at once
	}{
		"the whole cache":    {remove("../.."), true},
		"the package":        {remove("."), true},
		"a file":             {remove("run.sh"), true},
		"a folder":           {remove("lib"), true},
		"its link":           {remove("link"), true},
		"all but the folder": {remove("run.sh", "lib", "link"), true},
		"a file deep in it":  {remove("lib/deep/a"), false},
		"a folder in it":     {remove("lib/deep"), false},
		"what a file holds": {func(dir string) error {
			path := filepath.Join(dir, "lib/b")
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o444)
		}, false},
		"a link in the place of a folder": {func(dir string) error {
			if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), filepath.Join(dir, "lib"))
		}, false},
		"a pipe in its place": {func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return mkfifo(dir)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, sent := served(t, archive)
			cache := filepath.Join(t.TempDir(), "cache")
			source := pack.Source{URL: url, Cache: true}
			user := open(t, cache, pack.Defaults())
			dir := get(t, user, source)
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}
			if _, ok := user.Ready(source); ok == test.noticed {
				t.Errorf("ready: %v", ok)
			}
			if test.noticed {
				dir = get(t, user, source)
			} else {
				dir = get(t, open(t, cache, pack.Defaults()), source)
			}
			if diff := cmp.Diff(whole, tree(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, ok := user.Ready(source); !ok {
				t.Error("not ready when mended")
			}
			if n := sent.Load(); n != 2 {
				t.Errorf("fetched %d times", n)
			}
			mustHold(t, filepath.Join(cache, "tmp"), 0)
		})
	}
}

// TestJobsChangeTheirPackage: that is no damage. What they remove for good is put back once, not for each task.
func TestJobsChangeTheirPackage(t *testing.T) {
	t.Parallel()
	url, sent := served(t, tarOf(t, entry{name: "run.sh", content: body, mode: 0o755}, entry{name: "first-run", mode: 0o644}))
	source, cache := pack.Source{URL: url, Cache: true}, t.TempDir()
	store := open(t, cache, pack.Defaults())
	dir := get(t, store, source)
	if err := os.WriteFile(filepath.Join(dir, "state"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*pack.Store{store, open(t, cache, pack.Defaults())} {
		get(t, s, source)
	}
	if n := sent.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	for range 5 {
		if err := os.RemoveAll(filepath.Join(dir, "first-run")); err != nil {
			t.Fatal(err)
		}
		get(t, store, source)
	}
	if n := sent.Load(); n != 2 {
		t.Errorf("fetched %d times", n)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "state")); err != nil || string(text) != "x" {
		t.Errorf("what a job wrote: %q, %v", text, err)
	}
}

// TestUnusedPackageGoesAtOnce: however long its removal takes, there is never a part of it under its name, which
// whoever comes after a kill would take for the whole.
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
			t.Fatalf("%d files of %d are there", len(found), n)
		}
	}
	mustHold(t, filepath.Join(cache, "content"), 0)
	mustHold(t, filepath.Join(cache, "whole"), 0)
	mustHold(t, filepath.Join(cache, "tmp"), 0)
}

// TestLongNames: a single file may be called as any file may.
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

// TestFrozenExecutor: a package that another executor keeps locked for longer than a fetch may take is fetched for
// this one alone.
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
			if text, err := os.ReadFile(filepath.Join(dir, "job.sh")); err != nil || string(text) != body || !strings.HasPrefix(dir, private) {
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

// TestPipesInTheCache: a task can put them where the store's own files are.
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

// TestNoSecretIsTold: neither a password, however strange, nor what signs a URL, whatever fails.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/no-url":
			w.Header().Set("Location", "http://me:sesame%zz@host/?sig=sesame")
			w.WriteHeader(http.StatusFound)
		case "/ftp":
			http.Redirect(w, r, "ftp://me:sesame@host/x?sig=sesame", http.StatusFound)
		case "/page":
			_, _ = io.WriteString(w, "<!DOCTYPE html><html>")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	var log strings.Builder
	limits := pack.Defaults()
	limits.Tries = 1
	store, err := pack.Open(t.TempDir(), t.TempDir(), limits, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for address, want := range map[string]string{
		"http://me:sesame@127.0.0.1:1/x":                    "http://me:xxxxx@127.0.0.1:1/x:",
		"http://127.0.0.1:1/x.tgz?X-Amz-Signature=sesame#a": "http://127.0.0.1:1/x.tgz?…:",
		"http://me:ses%zzame@127.0.0.1:1/x?sig=sesame":      "http://me:xxxxx@127.0.0.1:1/x?…:",
		"http://me:ses/sesame@127.0.0.1:1/x":                "http://me:xxxxx@127.0.0.1:1/x:",
		"http://me:ses?sesame@127.0.0.1:1/x?sesame":         "http://me:xxxxx@127.0.0.1:1/x?…:",
		"me:sesame@127.0.0.1/x":                             "xxxxx@127.0.0.1/x:",
		"http://127.0.0.1:1/%zz?sig=sesame":                 "http://127.0.0.1:1/%zz?…:",
		"http://127.0.0.1:1/app@1.2.tgz":                    "http://127.0.0.1:1/app@1.2.tgz:",
		"file:///no/such/app@1.2.tgz":                       "file:///no/such/app@1.2.tgz:",
		server.URL + "/no-url?sig=sesame":                   "redirects to what is no URL",
		server.URL + "/ftp?sig=sesame":                      "redirects to ftp://me:xxxxx@host/x?…",
		server.URL + "/page?sig=sesame":                     "/page?…: this is a web page",
		server.URL + "/gone?sig=sesame":                     "/gone?…: the server answers 404",
	} {
		for _, cache := range []bool{false, true} {
			_, err := store.Get(context.Background(), pack.Source{URL: address, Cache: cache})
			if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v; want %s", address, err, want)
			}
		}
	}
	if !strings.Contains(log.String(), "/page?…") || strings.Contains(log.String(), "sesame") {
		t.Errorf("log: %s", &log)
	}
}
