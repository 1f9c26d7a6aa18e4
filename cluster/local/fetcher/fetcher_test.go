package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
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

// content serves one body under every path and counts how often it is asked for.
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

// uri is that of a program.
func uri(value string, change ...func(*mesos.CommandInfo_URI)) []mesos.CommandInfo_URI {
	yes := true
	u := mesos.CommandInfo_URI{Value: value, Executable: &yes}
	for _, c := range change {
		c(&u)
	}
	return []mesos.CommandInfo_URI{u}
}

func cached(u *mesos.CommandInfo_URI) { yes := true; u.Cache = &yes }
func output(name string) func(*mesos.CommandInfo_URI) {
	return func(u *mesos.CommandInfo_URI) { u.OutputFile = &name }
}

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
		mode fs.FileMode
	}{
		"program":                  {uri(url + "/some/file"), "file", 0o755},
		"kept program":             {uri(url+"/some/file", cached), "file", 0o555},
		"program with a name":      {uri(url+"/some/file", output("other")), "other", 0o755},
		"kept program with a name": {uri(url+"/some/file", cached, output("other")), "other", 0o555},
		"program of this machine":  {uri("file://" + local), "local", 0o755},
		"kept program of this one": {uri("file://"+local, cached), "local", 0o555},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, sandbox := newTestFetcher(t), t.TempDir()
			if err := f.Fetch(t.Context(), c.uri, sandbox); err != nil {
				t.Fatal(err)
			}
			found, err := os.ReadDir(sandbox)
			if err != nil || len(found) != 1 || found[0].Name() != c.name {
				t.Fatalf("the sandbox holds %v, %v", found, err)
			}
			info, err := found[0].Info()
			data, failed := os.ReadFile(filepath.Join(sandbox, c.name))
			if err := errors.Join(err, failed); err != nil || info.Mode() != c.mode || string(data) != "hi" {
				t.Errorf("%v %q, %v", info.Mode(), data, err)
			}
			if kept, err := os.ReadDir(f.cache.dir); err != nil || len(kept) != map[fs.FileMode]int{0o555: 1}[c.mode] {
				t.Errorf("the cache holds %v, %v", kept, err)
			}
		})
	}
}

// Errors say which URI and why, and no password.
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
		url + "/":                       "no file name",
		"http://":                       "no file name",
	} {
		err := newTestFetcher(t).Fetch(t.Context(), uri(value), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), strings.ReplaceAll(value, "secret", "xxxxx")) {
			t.Errorf("%s: %v; want %q in it", value, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("password in %v", err)
		}
	}
	if err := newTestFetcher(t).Fetch(t.Context(), uri(url+"/x", output("../x")), t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a name within the sandbox") {
		t.Errorf("output file outside: %v", err)
	}
	plain := uri(url + "/x")
	plain[0].Executable = nil
	if err := newTestFetcher(t).Fetch(t.Context(), plain, t.TempDir()); err == nil || !strings.Contains(err.Error(), "programs only") {
		t.Errorf("what is no program: %v", err)
	}
}

// A file is replaced, a link in its place is not followed.
func TestLinkInThePlaceOfAFile(t *testing.T) {
	t.Parallel()
	url, _ := content(t, []byte("new"))
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	sandbox := t.TempDir()
	if err := os.Symlink(victim, filepath.Join(sandbox, "file")); err != nil {
		t.Fatal(err)
	}
	if err := newTestFetcher(t).Fetch(t.Context(), uri(url+"/file"), sandbox); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(victim); string(data) != "old" {
		t.Errorf("victim holds %q, %v", data, err)
	}
}

// Many at once make one download; a failed one leaves nothing behind.
func TestCache(t *testing.T) {
	t.Parallel()
	url, asked := content(t, bytes.Repeat([]byte("x"), 1000))
	f := newTestFetcher(t)
	fetch := func(path string) {
		sandbox := t.TempDir()
		if err := f.Fetch(t.Context(), uri(url+path, cached), sandbox); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(filepath.Join(sandbox, path)); err != nil || info.Size() != 1000 {
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
	if err := f.Fetch(t.Context(), uri(url+"/missing", cached), t.TempDir()); err == nil {
		t.Error("a missing file was fetched")
	}
	if entries, err := os.ReadDir(f.cache.dir); err != nil || len(entries) != 2 {
		t.Errorf("a failed fetch left %v, %v", entries, err)
	}
}

// Who waits for another one's download does not suffer when that one is cancelled.
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
		if err := f.Fetch(ctx, uri(server.URL+"/x", cached), t.TempDir()); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled fetch: %v", err)
		}
	})
	<-started
	all.Go(func() {
		if err := f.Fetch(t.Context(), uri(server.URL+"/x", cached), t.TempDir()); err != nil {
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
	if err := f.Fetch(t.Context(), uri(server.URL+"/x"), t.TempDir()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

// runs executes a program and returns what it writes. Another test may be forking just now, and its child have the
// program open for writing for a moment: see the agent's start.
func runs(name string) (out []byte, err error) {
	for {
		if out, err = exec.Command(name).Output(); !errors.Is(err, syscall.ETXTBSY) {
			return out, err
		}
	}
}

// A cached program has one copy, however many sandboxes hold it: in each it can be executed at once, and what happens to its name there
// reaches no other one.
func TestCachedProgramIsLinked(t *testing.T) {
	t.Parallel()
	url, asked := content(t, []byte("#!/bin/sh\necho runs\n"))
	f := newTestFetcher(t)
	fetch := func(path string, more ...func(*mesos.CommandInfo_URI)) string {
		t.Helper()
		sandbox := t.TempDir()
		if err := f.Fetch(t.Context(), uri(url+path, more...), sandbox); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(sandbox, filepath.Base(path))
	}
	info := func(name string) fs.FileInfo {
		t.Helper()
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := fetch("/program", cached)
	for i, other := range []string{fetch("/program", cached), fetch("/program", cached)} {
		if !os.SameFile(info(first), info(other)) || info(other).Mode() != 0o555 {
			t.Errorf("sandbox %d has a copy, %v", i, info(other).Mode())
		}
		if out, err := runs(other); err != nil || string(out) != "runs\n" {
			t.Errorf("wrote %q, %v", out, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	// Who takes its name away, or puts something else there, changes his own only.
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, []byte("other"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Who changes the file itself, changes that of others too; those who come later get what was published.
	changed := fetch("/program", cached)
	if err := errors.Join(os.Chmod(changed, 0o755), os.WriteFile(changed, []byte("#!/bin/sh\necho evil\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := runs(fetch("/program", cached)); err != nil || string(out) != "runs\n" {
			t.Errorf("wrote %q, %v", out, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// Programs that are fetched and executed at the same time by many run each time.
func TestFetchedProgramsRunAtOnce(t *testing.T) {
	t.Parallel()
	url, _ := content(t, []byte("#!/bin/sh\nexit 0\n"))
	f := newTestFetcher(t)
	var work sync.WaitGroup
	for i := range 20 {
		for range 5 {
			work.Go(func() {
				sandbox := t.TempDir()
				if err := f.Fetch(t.Context(), uri(fmt.Sprint(url, "/program-", i), cached), sandbox); err != nil {
					t.Error(err)
					return
				}
				name := filepath.Join(sandbox, fmt.Sprint("program-", i))
				if _, err := runs(name); err != nil {
					t.Error(err)
				}
			})
		}
	}
	work.Wait()
}
