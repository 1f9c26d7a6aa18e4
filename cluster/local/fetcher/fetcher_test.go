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

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTestFetcher(t *testing.T, change ...func(*Options)) *Fetcher {
	t.Helper()
	options := Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Client: &http.Client{Transport: &http.Transport{}}}
	for _, c := range change {
		c(&options)
	}
	f, err := New(options)
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

func uri(value string, change ...func(*mesos.CommandInfo_URI)) []mesos.CommandInfo_URI {
	u := mesos.CommandInfo_URI{Value: value}
	for _, c := range change {
		c(&u)
	}
	return []mesos.CommandInfo_URI{u}
}

func executable(u *mesos.CommandInfo_URI) { yes := true; u.Executable = &yes }
func cached(u *mesos.CommandInfo_URI)     { yes := true; u.Cache = &yes }
func asIs(u *mesos.CommandInfo_URI)       { no := false; u.Extract = &no }
func output(name string) func(*mesos.CommandInfo_URI) {
	return func(u *mesos.CommandInfo_URI) { u.OutputFile = &name }
}

// tree lists a folder: names with modes, and what files hold.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			found[name+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		default:
			data, err := os.ReadFile(path)
			found[name] = info.Mode().String() + " " + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFetch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		with []func(*mesos.CommandInfo_URI)
		mode string
	}{
		"plain file":          {"/some/file", nil, "-rw-r--r--"},
		"plain file, cached":  {"/some/file", []func(*mesos.CommandInfo_URI){cached}, "-rw-r--r--"},
		"executable":          {"/file", []func(*mesos.CommandInfo_URI){executable}, "-rwxr-xr-x"},
		"executable archive":  {"/file.tar", []func(*mesos.CommandInfo_URI){executable}, "-rwxr-xr-x"},
		"archive as it is":    {"/file.tar.gz", []func(*mesos.CommandInfo_URI){asIs}, "-rw-r--r--"},
		"output file":         {"/another", []func(*mesos.CommandInfo_URI){output("file")}, "-rw-r--r--"},
		"archive by its name": {"/file.zip", []func(*mesos.CommandInfo_URI){output("file")}, "-rw-r--r--"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := content(t, []byte("hi"))
			sandbox := t.TempDir()
			if err := newTestFetcher(t).Fetch(t.Context(), uri(url+c.path, c.with...), sandbox); err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(c.path)
			if out := uri("", c.with...)[0].OutputFile; out != nil {
				name = *out
			}
			if diff := cmp.Diff(map[string]string{name: c.mode + " hi"}, tree(t, sandbox)); diff != "" {
				t.Errorf("sandbox (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocalFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("hi"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{file, "file://" + file} {
		sandbox := t.TempDir()
		if err := newTestFetcher(t).Fetch(t.Context(), uri(value, output("p"), executable), sandbox); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"p": "-rwxr-xr-x hi"}, tree(t, sandbox)); diff != "" {
			t.Errorf("sandbox (-want +got):\n%s", diff)
		}
	}
}

// Errors say which URI and why, and no password.
func TestErrorsSayWhy(t *testing.T) {
	t.Parallel()
	url, _ := content(t, []byte("not an archive"))
	for value, want := range map[string]string{
		url + "/missing":                "404 Not Found",
		"http://u:secret@127.0.0.1:1/x": "refused",
		"ftp://host/file":               `scheme "ftp" is not supported`,
		"relative/path":                 "neither a URL nor an absolute path",
		"file:///no/such/file":          "no such file",
		"file://" + t.TempDir():         "not a regular file",
		url + "/":                       "no file name",
		url + "/x.tar.gz":               "not unpacked",
		url + "/x.zip":                  "not unpacked",
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
	if entries, err := os.ReadDir(f.options.CacheDir); err != nil || len(entries) != 2 {
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
	f := newTestFetcher(t, func(o *Options) { o.Stall = 50 * time.Millisecond })
	if err := f.Fetch(t.Context(), uri(server.URL+"/x"), t.TempDir()); !errors.Is(err, errStalled) {
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
	first := fetch("/program", cached, executable)
	for i, other := range []string{fetch("/program", cached, executable), fetch("/program", cached, executable)} {
		if !os.SameFile(info(first), info(other)) || info(other).Mode() != 0o555 {
			t.Errorf("sandbox %d has a copy, %v", i, info(other).Mode())
		}
		if out, err := runs(other); err != nil || string(out) != "runs\n" {
			t.Errorf("wrote %q, %v", out, err)
		}
	}
	// What isn't executed may be written to, so it is a copy.
	if plain := fetch("/program", cached); os.SameFile(info(first), info(plain)) || info(plain).Mode() != 0o644 {
		t.Errorf("a file is linked, %v", info(plain).Mode())
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
	changed := fetch("/program", cached, executable)
	if err := errors.Join(os.Chmod(changed, 0o755), os.WriteFile(changed, []byte("#!/bin/sh\necho evil\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := runs(fetch("/program", cached, executable)); err != nil || string(out) != "runs\n" {
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
				if err := f.Fetch(t.Context(), uri(fmt.Sprint(url, "/program-", i), cached, executable), sandbox); err != nil {
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
