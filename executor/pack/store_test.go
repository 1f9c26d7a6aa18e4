package pack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func open(t testing.TB, dir string, limits pack.Limits) *pack.Store {
	t.Helper()
	store, err := pack.Open(dir, filepath.Join(t.TempDir(), "packages"), limits, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// TestRevalidation: a new store asks the server whether its copy is still current.
func TestRevalidation(t *testing.T) {
	t.Parallel()
	var content atomic.Value
	content.Store("#!one")
	var full atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := content.Load().(string)
		w.Header().Set("ETag", `"`+text+`"`)
		if r.Header.Get("If-None-Match") == `"`+text+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	dir := t.TempDir()
	source := pack.Source{URL: server.URL + "/job.sh", Cache: true}
	get := func(want string, downloads int32) {
		t.Helper()
		store := open(t, dir, pack.Defaults())
		for range 2 {
			got, err := store.Get(context.Background(), source)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(filepath.Join(got.Dir, "job.sh"))
			if string(text) != want || full.Load() != downloads {
				t.Errorf("%q after %d downloads; want %q, %d", text, full.Load(), want, downloads)
			}
		}
	}
	get("#!one", 1)
	get("#!one", 1)
	content.Store("#!two")
	get("#!two", 2)
	content.Store("#!one")
	get("#!one", 3)
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("left in tmp: %v", left)
	}
}

// TestStoresShareAFolder: executors that need the same package at the same time fetch it once.
func TestStoresShareAFolder(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		if r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		requests.Add(1)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		store := open(t, dir, pack.Defaults())
		for range 4 {
			all.Go(func() {
				got, err := store.Get(context.Background(), pack.Source{URL: server.URL + "/job.sh", Cache: true})
				if err != nil {
					t.Error(err)
					return
				}
				if info, err := os.Stat(filepath.Join(got.Dir, "job.sh")); err != nil || info.Mode() != 0o555 {
					t.Errorf("%v %v", info, err)
				}
			})
		}
	}
	all.Wait()
	if requests.Load() != 1 {
		t.Errorf("%d downloads", requests.Load())
	}
}

// TestURLsShareAContent: executors that fetch one content from several URLs at the same time keep it once. None of them
// replaces a package that another one has handed out already, because a task may be starting in it.
func TestURLsShareAContent(t *testing.T) {
	t.Parallel()
	url, _ := served(t, tarOf(t, plain("run.sh")))
	const stores, urls = 3, 6
	for round := range 10 {
		cache := t.TempDir()
		got := make([]pack.Package, stores*urls)
		var all sync.WaitGroup
		for i := range stores {
			store := open(t, cache, pack.Defaults())
			for k := range urls {
				all.Go(func() {
					p, err := store.Get(context.Background(), pack.Source{URL: fmt.Sprint(url, "?", k), Cache: true})
					if err != nil {
						t.Error(err)
					}
					got[i*urls+k] = p
				})
			}
		}
		all.Wait()
		for i, p := range got {
			if p.Dir != got[0].Dir || p.State != got[0].State || p.Note != "" {
				t.Fatalf("round %d: %d was given %s in state %s (%s), 0 was given %s in state %s", round, i, p.Dir,
					p.State, p.Note, got[0].Dir, got[0].State)
			}
		}
	}
}

// TestResume: a broken transfer is resumed where it broke, unless the content has changed.
func TestResume(t *testing.T) {
	t.Parallel()
	text := "#!" + strings.Repeat("0123456789", 50_000)
	for name, changes := range map[string]bool{"same": false, "changed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			var ranges []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := requests.Add(1)
				ranges = append(ranges, r.Header.Get("Range"))
				tag, now := `"a"`, text
				if changes && n > 1 {
					tag, now = `"b"`, strings.ReplaceAll(text, "1", "x")
				}
				w.Header().Set("ETag", tag)
				if n == 1 {
					w.Header().Set("Content-Length", fmt.Sprint(len(now)))
					_, _ = io.WriteString(w, now[:200_000])
					panic(http.ErrAbortHandler)
				}
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(now))
			}))
			defer server.Close()
			store := open(t, t.TempDir(), pack.Defaults())
			got, err := store.Get(context.Background(), pack.Source{URL: server.URL + "/job.sh"})
			if err != nil {
				t.Fatal(err)
			}
			defer got.Release()
			want := text
			if changes {
				want = strings.ReplaceAll(text, "1", "x")
			}
			if content, _ := os.ReadFile(filepath.Join(got.Dir, "job.sh")); string(content) != want {
				t.Errorf("%d bytes, want %d", len(content), len(want))
			}
			if len(ranges) != 2 || !strings.HasPrefix(ranges[1], "bytes=") {
				t.Errorf("ranges: %q", ranges)
			}
		})
	}
}

func TestFetchFails(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	limits := pack.Defaults()
	limits.Tries, limits.Download = 2, 5000
	store := open(t, t.TempDir(), limits)
	for _, test := range []struct {
		url, want string
		requests  int32
	}{
		{server.URL + "/gone", "404 Not Found", 1},
		{server.URL + "/busy", "503 Service Unavailable", 2},
		{server.URL + "/endless", "more than 5000 bytes", 1},
		{"http://127.0.0.1:1/x", "connection refused", 0},
		{"ftp://host/x", `scheme "ftp" isn't supported`, 0},
		{"my-job.tar", "must begin with http:", 0},
		{"http:///x", "must name a host", 0},
		{"file:///", "not a regular file", 0},
	} {
		requests.Store(0)
		_, err := store.Get(context.Background(), pack.Source{URL: test.url, Cache: true})
		var failed *pack.Error
		if !errors.As(err, &failed) || failed.Phase != wire.PhaseFetch || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.url, err)
		}
		if got := requests.Load(); got != test.requests {
			t.Errorf("%s: %d requests, want %d", test.url, got, test.requests)
		}
	}
}

// TestStall: a transfer that receives nothing for too long is aborted and retried.
func TestStall(t *testing.T) {
	t.Parallel()
	var answered atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "#!")
		_ = http.NewResponseController(w).Flush()
		answered.Add(1)
		<-r.Context().Done()
	}))
	defer server.Close()
	limits := pack.Defaults()
	limits.Tries, limits.Stall = 100, 200*time.Millisecond
	store := open(t, t.TempDir(), limits)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		for end := time.Now().Add(20 * time.Second); answered.Load() < 2 && time.Now().Before(end); {
			<-time.After(time.Millisecond)
		}
	}()
	_, err := store.Get(ctx, pack.Source{URL: server.URL + "/job.sh", Cache: true})
	if err == nil || answered.Load() < 2 {
		t.Errorf("%v after %d answers", err, answered.Load())
	}
	limits.Tries = 1
	if _, err := open(t, t.TempDir(), limits).Get(context.Background(),
		pack.Source{URL: server.URL + "/job.sh"}); err == nil || !strings.Contains(err.Error(), "stalled") {
		t.Errorf("one try: %v", err)
	}
}

// TestCancel: a fetch is cancelled when the last task that waits for it stops waiting, and not before.
func TestCancel(t *testing.T) {
	t.Parallel()
	asked, ended, goOn := make(chan struct{}, 4), make(chan struct{}, 4), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-goOn:
			_, _ = io.WriteString(w, body)
		case <-r.Context().Done():
			ended <- struct{}{}
		}
	}))
	defer server.Close()
	store := open(t, t.TempDir(), pack.Defaults())
	source := pack.Source{URL: server.URL + "/job.sh", Cache: true}
	why := errors.New("not wanted")
	first, cancelFirst := context.WithCancelCause(context.Background())
	result := make(chan error)
	go func() {
		_, err := store.Get(first, source)
		result <- err
	}()
	<-asked
	cancelFirst(why)
	if err := <-result; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	<-ended
	second, cancelSecond := context.WithCancelCause(context.Background())
	defer cancelSecond(nil)
	go func() {
		_, err := store.Get(second, source)
		result <- err
	}()
	<-asked
	close(goOn)
	if err := <-result; err != nil {
		t.Error(err)
	}
	if _, ok := store.Ready(source); !ok {
		t.Error("not ready after it was fetched")
	}
}
