package pack_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// served serves a package, and counts how often the server sends all of it.
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

// TestChangedPackageIsReplaced: if the owner of its files changes a kept package in any way, the next use, by the same
// executor or by another one, gets the package as it was published. The change is reported.
func TestChangedPackageIsReplaced(t *testing.T) {
	t.Parallel()
	archive := tarOf(t, entry{name: "run.sh", content: body, mode: 0o755},
		entry{name: "lib/deep/a", content: "a", mode: 0o644},
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
	// write changes a file as its owner can, and restores its size and time.
	write := func(name, content string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			before, err := os.Stat(path)
			if err != nil {
				return err
			}
			return errors.Join(os.Chmod(path, 0o755), os.WriteFile(path, []byte(content), 0),
				os.Chmod(path, before.Mode()),
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
			return errors.Join(os.WriteFile(other, []byte(body), 0o555),
				os.Rename(other, filepath.Join(dir, "run.sh")))
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
		for _, uses := range []int{0, 1, 2} { // 0: another executor finds the change
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
				if gone := name == "the whole cache" || name == "the package" || name == "a pipe in its place"; same ||
					!gone {
					if !strings.Contains(after.Note, test.told) {
						t.Errorf("note: %q", after.Note)
					}
				}
				if diff := cmp.Diff(whole, tree(t, after.Dir)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if again, ok := user.Ready(source); !ok || again.Note != "" || again.State != after.State ||
					after.State == before.State {
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

// TestReplacedPackageIsTaken: if one executor has replaced a changed package, another one that uses the package
// takes the new one without a fetch of its own.
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

// TestPackageIsNeverHalfThere: while a changed package is replaced repeatedly, its name always leads to a complete
// package.
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

// TestLargePackageIsCheckedPeriodically: a change of a package with many files is noticed soon, but the package is not
// checked before each use, which would cost as much as a short task.
func TestLargePackageIsCheckedPeriodically(t *testing.T) {
	t.Parallel()
	entries := make([]entry, 2000)
	for i := range entries {
		entries[i] = plain(fmt.Sprint("lib/", i))
	}
	url, sent := served(t, tarOf(t, entries...))
	source := pack.Source{URL: url, Cache: true}
	store := open(t, t.TempDir(), pack.Defaults())
	dir := get(t, store, source)
	if err := os.WriteFile(filepath.Join(dir, "lib", "1000"), nil, 0o644); err != nil &&
		!errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	changed := func() (fetched int32) {
		if err := os.Remove(filepath.Join(dir, "lib", "7")); err != nil {
			t.Fatal(err)
		}
		return sent.Load()
	}
	noticed := func(fetched int32) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); sent.Load() == fetched; get(t, store, source) {
			if time.Now().After(end) {
				t.Fatal("not noticed")
			}
		}
	}
	noticed(changed())
	// A use immediately after another one does not check. So it misses a change, which is noticed later.
	for range 100 {
		get(t, store, source)
		fetched := changed()
		if get(t, store, source); sent.Load() == fetched {
			noticed(fetched)
			return
		}
	}
	t.Error("each use checks all files")
}

// BenchmarkReady measures the cost per attempt of the check of its package.
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
			limits.Check = time.Hour
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

// TestReplacedFileIsTakenAtOnce: when the file of a file: URL is replaced, the next task uses the new package. While
// the file is missing, the kept package is used.
func TestReplacedFileIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "job.sh")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	store := open(t, folder, pack.Defaults())
	source := pack.Source{URL: "file://" + file, Cache: true}
	get := func(want string) {
		t.Helper()
		got, err := store.Get(context.Background(), source)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(filepath.Join(got.Dir, "job.sh")); string(text) != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	ready := func(want bool) {
		t.Helper()
		if _, ok := store.Ready(source); ok != want {
			t.Errorf("ready: %v", ok)
		}
	}
	write("#!one")
	get("#!one")
	ready(true)
	store = open(t, folder, pack.Defaults()) // the next executor
	get("#!one")
	ready(true)
	write("#!another")
	ready(false)
	get("#!another")
	ready(true)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	ready(true)
}
