package pack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// TestChangedPackageIsReplaced: whatever somebody did to a kept package, with the permissions of its owner, the next use of
// it, by the executor that has it and by another one, finds it as it was published, and the change is reported.
func TestChangedPackageIsReplaced(t *testing.T) {
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
	// write changes a file as its owner can, and sets its size and time back.
	write := func(name, content string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			before, err := os.Stat(path)
			if err != nil {
				return err
			}
			return errors.Join(os.Chmod(path, 0o755), os.WriteFile(path, []byte(content), 0), os.Chmod(path, before.Mode()),
				os.Chtimes(path, before.ModTime(), before.ModTime()))
		}
	}
	for name, test := range map[string]struct {
		damage func(dir string) error
		told   string
	}{
		"the whole cache":                      {remove("../.."), "it is gone"},
		"the package":                          {remove("."), "it is gone"},
		"a file":                               {remove("run.sh"), "changed after it was unpacked"},
		"a folder":                             {remove("lib"), "changed after it was unpacked"},
		"its link":                             {remove("link"), "changed after it was unpacked"},
		"all but the folder":                   {remove("run.sh", "lib", "link"), "changed after it was unpacked"},
		"a file deep in it":                    {remove("lib/deep/a"), "the last change is of lib/deep, at "},
		"a folder in it":                       {remove("lib/deep"), "the last change is of lib, at "},
		"the code, with its old size and time": {write("run.sh", strings.Repeat("x", len(body))), "the last change is of run.sh, at "},
		"the code, renamed over": {func(dir string) error {
			other := filepath.Join(dir, "..", "other")
			return errors.Join(os.WriteFile(other, []byte(body), 0o555), os.Rename(other, filepath.Join(dir, "run.sh")))
		}, "changed after it was unpacked"},
		"permissions":     {func(dir string) error { return os.Chmod(filepath.Join(dir, "lib/b"), 0o777) }, "the last change is of lib/b, at "},
		"a file is added": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "lib/new"), nil, 0o644) }, "of lib"},
		"a link in the place of a folder": {func(dir string) error {
			if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), filepath.Join(dir, "lib"))
		}, "changed after it was unpacked"},
		"a pipe in its place": {func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return mkfifo(dir)
		}, "it is gone"},
		"a closed folder": {func(dir string) error { return os.Chmod(dir, 0) }, "changed after it was unpacked"},
	} {
		for _, uses := range []int{0, 1, 2} { // 0: another executor finds it
			same := uses > 0
			t.Run(fmt.Sprint(name, ", uses: ", uses), func(t *testing.T) {
				t.Parallel()
				url, sent := served(t, archive)
				cache := filepath.Join(t.TempDir(), "cache")
				source := pack.Source{URL: url, Cache: true}
				user := open(t, cache, pack.Defaults())
				before, err := user.Get(context.Background(), source)
				if err != nil || before.Note != "" {
					t.Fatal(before, err)
				}
				for range uses {
					if _, ok := user.Ready(source); !ok {
						t.Fatal("not ready")
					}
				}
				if err := test.damage(before.Dir); err != nil {
					t.Fatal(err)
				}
				if same {
					if _, ok := user.Ready(source); ok {
						t.Error("still ready")
					}
				} else {
					user = open(t, cache, pack.Defaults())
				}
				after, err := user.Get(context.Background(), source)
				if err != nil {
					t.Fatal(err)
				}
				if gone := name == "the whole cache" || name == "the package" || name == "a pipe in its place"; same || !gone {
					if !strings.Contains(after.Note, test.told) {
						t.Errorf("note: %q", after.Note)
					}
				}
				if diff := cmp.Diff(whole, tree(t, after.Dir)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if again, ok := user.Ready(source); !ok || again.Note != "" || again.State != after.State || after.State == before.State {
					t.Errorf("afterwards: %v, %+v", ok, again)
				}
				if n := sent.Load(); n != 2 {
					t.Errorf("fetched %d times", n)
				}
				mustHold(t, filepath.Join(cache, "tmp"), 0)
			})
		}
	}
}

// TestReplacedPackageIsTaken: what one executor has put right, another one that has the package in use takes without a
// fetch of its own.
func TestReplacedPackageIsTaken(t *testing.T) {
	t.Parallel()
	url, sent := served(t, tarOf(t, plain("run.sh")))
	source, cache := pack.Source{URL: url, Cache: true}, t.TempDir()
	one, other := open(t, cache, pack.Defaults()), open(t, cache, pack.Defaults())
	dir := get(t, one, source)
	get(t, other, source)
	if err := os.WriteFile(filepath.Join(dir, "added"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	get(t, one, source)
	get(t, other, source)
	if n := sent.Load(); n != 2 {
		t.Errorf("fetched %d times", n)
	}
	for _, store := range []*pack.Store{one, other} {
		if _, ok := store.Ready(source); !ok {
			t.Error("not ready")
		}
	}
}

// TestPackageIsNeverHalfThere: while a changed package is replaced again and again, whoever looks under its name finds
// all of it.
func TestPackageIsNeverHalfThere(t *testing.T) {
	t.Parallel()
	url, _ := served(t, tarOf(t, plain("a"), plain("b"), plain("c")))
	source := pack.Source{URL: url, Cache: true}
	store := open(t, t.TempDir(), pack.Defaults())
	dir := get(t, store, source)
	stop, looked := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { looked <- n }()
		for ; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := os.Stat(filepath.Join(dir, "b")); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		get(t, store, source)
	}
	close(stop)
	if n := <-looked; n < 20 {
		t.Errorf("looked %d times", n)
	}
}

// TestLargePackageIsLookedAtNowAndThen: of a package with many files a change is noticed soon, and looking for it does not
// cost each of many short tasks what it costs one.
func TestLargePackageIsLookedAtNowAndThen(t *testing.T) {
	t.Parallel()
	entries := make([]entry, 2000)
	for i := range entries {
		entries[i] = plain(fmt.Sprint("lib/", i))
	}
	url, sent := served(t, tarOf(t, entries...))
	source := pack.Source{URL: url, Cache: true}
	store := open(t, t.TempDir(), pack.Defaults())
	dir := get(t, store, source)
	if err := os.WriteFile(filepath.Join(dir, "lib", "1000"), nil, 0o644); err != nil && !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "lib", "7")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); sent.Load() == 1; get(t, store, source) {
		if time.Now().After(end) {
			t.Fatal("not noticed")
		}
	}
	begun, uses := time.Now(), 0
	for ; time.Since(begun) < 200*time.Millisecond; uses++ {
		get(t, store, source)
	}
	if uses < 1000 {
		t.Errorf("%d uses in 200 ms", uses)
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

// BenchmarkReady is what each attempt pays for the look at its package.
func BenchmarkReady(b *testing.B) {
	for _, files := range []int{1, 30, 230, 10_000} {
		b.Run(fmt.Sprint(files, " files"), func(b *testing.B) {
			entries := make([]entry, files)
			for i := range entries {
				entries[i] = plain(fmt.Sprint(i%10, "/", i))
			}
			file := filepath.Join(b.TempDir(), "app.tar")
			if err := os.WriteFile(file, tarOf(b, entries...), 0o644); err != nil {
				b.Fatal(err)
			}
			limits := pack.Defaults()
			limits.Check = 0
			store := open(b, b.TempDir(), limits)
			source := pack.Source{URL: "file://" + file, Cache: true}
			get(b, store, source)
			for b.Loop() {
				if _, ok := store.Ready(source); !ok {
					b.Fatal("not ready")
				}
			}
		})
	}
}
