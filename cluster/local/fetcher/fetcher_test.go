package fetcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTestFetcher(t *testing.T) *Fetcher {
	t.Helper()
	f, err := New(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// content serves one body under every path and counts the requests.
func content(t *testing.T, body []byte) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/missing") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// uri returns the URI of a program.
func uri(value string, change ...func(*mesos.CommandInfo_URI)) []mesos.CommandInfo_URI {
	yes := true
	u := mesos.CommandInfo_URI{Value: value, Executable: &yes}
	for _, c := range change {
		c(&u)
	}
	return []mesos.CommandInfo_URI{u}
}

// fetchOne fetches, and returns only the error.
func fetchOne(t *testing.T, f *Fetcher, uris []mesos.CommandInfo_URI) error {
	t.Helper()
	return fetchWithin(t.Context(), f, uris)
}

func fetchWithin(ctx context.Context, f *Fetcher, uris []mesos.CommandInfo_URI) error {
	found, err := f.Fetch(ctx, uris)
	found.Close()
	return err
}

func cached(u *mesos.CommandInfo_URI) { yes := true; u.Cache = &yes }
func output(name string) func(*mesos.CommandInfo_URI) {
	return func(u *mesos.CommandInfo_URI) { u.OutputFile = &name }
}

// A fetched program is found by the name that its command uses. Its open file has no name in any directory.
func TestFetch(t *testing.T) {
	t.Parallel()
	url, _ := content(t, []byte("hi"))
	local := filepath.Join(t.TempDir(), "local")
	if err := os.WriteFile(local, []byte("hi"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		uri  []mesos.CommandInfo_URI
		name string
	}{
		"program":                  {uri(url + "/some/file"), "file"},
		"kept program":             {uri(url+"/some/file", cached), "file"},
		"program with a name":      {uri(url+"/some/file", output("other")), "other"},
		"kept program with a name": {uri(url+"/some/file", cached, output("other")), "other"},
		"local program":            {uri("file://" + local), "local"},
		"kept local program":       {uri("file://"+local, cached), "local"},
		"the last of one name":     {append(uri("file:///dev/null", output("x")), uri("file://"+local, output("x"))...), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, sandbox := newTestFetcher(t), t.TempDir()
			found, err := f.Fetch(t.Context(), c.uri)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			program := found[c.name]
			if len(found) != 1 || program == nil {
				t.Fatalf("fetched are %v", found)
			}
			info, err := program.Stat()
			if err != nil || info.Mode() != 0o555 || info.Sys().(*syscall.Stat_t).Nlink != 0 {
				t.Errorf("it is %+v, %v", info, err)
			}
			if left, err := os.ReadDir(f.cache.dir); err != nil || len(left) != 0 {
				t.Errorf("the cache's folder holds %v, %v", left, err)
			}
			if err := found.Copy(sandbox); err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(sandbox, c.name)
			info, err = os.Stat(copied)
			data, failed := os.ReadFile(copied)
			if err := errors.Join(err, failed); err != nil || info.Mode() != 0o755 || string(data) != "hi" {
				t.Errorf("its copy is %v %q, %v", info.Mode(), data, err)
			}
		})
	}
}

// A program that does not match the checksum in its URI is not executed.
func TestChecksum(t *testing.T) {
	t.Parallel()
	url, _ := content(t, []byte("hi"))
	const right = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
	for sum, good := range map[string]bool{right: true, strings.Repeat("0", 64): false, "none": true} {
		found, err := newTestFetcher(t).Fetch(t.Context(), uri(url+"/program-"+sum, cached))
		if good != (err == nil) || err != nil && !strings.Contains(err.Error(), "its sha256 is "+right) {
			t.Errorf("%s: %v", sum, err)
		}
		found.Close()
	}
}

// Errors contain the URI and the reason, but no password.
func TestErrorsSayWhy(t *testing.T) {
	t.Parallel()
	url, _ := content(t, []byte("hi"))
	for value, want := range map[string]string{
		url + "/missing":                "404 Not Found",
		"http://u:secret@127.0.0.1:1/x": "refused",
		"ftp://host/file":               `protocol scheme "ftp"`,
		"relative/path":                 "protocol scheme",
		"/absolute/path":                "protocol scheme",
		"file:///no/such/file":          "404 Not Found",
		url + "/":                       "must end with a file name",
		"http://":                       "must end with a file name",
	} {
		err := fetchOne(t, newTestFetcher(t), uri(value))
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), strings.ReplaceAll(value, "secret", "xxxxx")) {
			t.Errorf("%s: %v; want %q in it", value, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("password in %v", err)
		}
	}
	if err := fetchOne(t, newTestFetcher(t), uri(url+"/x", output("../x"))); err == nil ||
		!strings.Contains(err.Error(), "not a name within the sandbox") {
		t.Errorf("output file outside: %v", err)
	}
	plain := uri(url + "/x")
	plain[0].Executable = nil
	if err := fetchOne(t, newTestFetcher(t), plain); err == nil || !strings.Contains(err.Error(), "only programs") {
		t.Errorf("a URI that is not executable: %v", err)
	}
}

// Concurrent requests share one download. A failed one leaves nothing behind.
func TestCache(t *testing.T) {
	t.Parallel()
	url, asked := content(t, bytes.Repeat([]byte("x"), 1000))
	f := newTestFetcher(t)
	fetch := func(path string) {
		found, err := f.Fetch(t.Context(), uri(url+path, cached))
		if err != nil {
			t.Error(err)
			return
		}
		defer found.Close()
		if info, err := found[path[1:]].Stat(); err != nil || info.Size() != 1000 {
			t.Errorf("%v, %v", info, err)
		}
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { fetch("/a") })
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
	for _, path := range []string{"/b", "/a", "/b"} {
		fetch(path)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d downloads of two files", n)
	}
	if err := fetchOne(t, f, uri(url+"/missing", cached)); err == nil {
		t.Error("a missing file was fetched")
	}
}

// If a download is cancelled, the callers that wait for it are not affected.
func TestCancelledDownloadIsTakenOver(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	first := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			started <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "hi")
	}))
	t.Cleanup(server.Close)
	f := newTestFetcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := fetchWithin(ctx, f, uri(server.URL+"/x", cached)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled fetch: %v", err)
		}
	})
	<-started
	all.Go(func() {
		if err := fetchOne(t, f, uri(server.URL+"/x", cached)); err != nil {
			t.Error(err)
		}
	})
	cancel()
	all.Wait()
}

func TestStalledDownloadEnds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "a beginning")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	f := newTestFetcher(t)
	f.client.Timeout = 50 * time.Millisecond
	if err := fetchOne(t, f, uri(server.URL+"/x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}
