package fetcher

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	"github.com/klauspost/compress/gzip"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/ulikunitz/xz"
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

type member struct{ name, body, link string }

var members = []member{{name: "bin/", body: ""}, {name: "bin/start.sh", body: "#!"}, {name: "deep/er/file", body: "x"}, {name: "link", link: "bin/start.sh"}}

func tarOf(t *testing.T, members []member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o755, Size: int64(len(m.body)), Typeflag: tar.TypeReg}
		switch {
		case m.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, m.link
		case strings.HasSuffix(m.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t *testing.T, members []member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name}
		body := m.body
		h.SetMode(0o755)
		if m.link != "" {
			h.SetMode(0o777 | fs.ModeSymlink)
			body = m.link
		} else if strings.HasSuffix(m.name, "/") {
			h.SetMode(0o755 | fs.ModeDir)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func compressed(t *testing.T, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := open(&out)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gz(w io.Writer) (io.WriteCloser, error)   { return gzip.NewWriter(w), nil }
func xzed(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }

func TestFetch(t *testing.T) {
	t.Parallel()
	plain := tarOf(t, members)
	unpacked := map[string]string{"bin/": "", "bin/start.sh": "-rwxr-xr-x #!", "deep/": "", "deep/er/": "", "deep/er/file": "-rwxr-xr-x x", "link": "-> bin/start.sh"}
	for name, c := range map[string]struct {
		body []byte
		path string
		with []func(*mesos.CommandInfo_URI)
		want map[string]string // beside the file itself, when not nil
		file string
	}{
		"plain file":         {[]byte("hi"), "/some/file", nil, nil, "-rw-r--r-- hi"},
		"executable":         {[]byte("hi"), "/file", []func(*mesos.CommandInfo_URI){executable}, nil, "-rwxr-xr-x hi"},
		"executable archive": {plain, "/file.tar", []func(*mesos.CommandInfo_URI){executable}, nil, "-rwxr-xr-x " + string(plain)},
		"archive as it is":   {plain, "/file.tar", []func(*mesos.CommandInfo_URI){asIs}, nil, "-rw-r--r-- " + string(plain)},
		"output file":        {[]byte("hi"), "/file", []func(*mesos.CommandInfo_URI){output("file")}, nil, "-rw-r--r-- hi"},
		"tar":                {plain, "/file.tar", nil, unpacked, ""},
		"tar.gz":             {compressed(t, plain, gz), "/file.tar.gz", nil, unpacked, ""},
		"tgz, cached":        {compressed(t, plain, gz), "/file.tgz", []func(*mesos.CommandInfo_URI){cached}, unpacked, ""},
		"tar.xz":             {compressed(t, plain, xzed), "/file.tar.xz", nil, unpacked, ""},
		"zip":                {zipOf(t, members), "/file.zip", nil, unpacked, ""},
		"gz":                 {compressed(t, []byte("text"), gz), "/file.txt.gz", nil, map[string]string{"file.txt": "-rw-r--r-- text"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := content(t, c.body)
			sandbox := t.TempDir()
			if err := newTestFetcher(t).Fetch(t.Context(), uri(url+c.path, c.with...), sandbox); err != nil {
				t.Fatal(err)
			}
			got, want := tree(t, sandbox), map[string]string{}
			file := filepath.Base(c.path)
			maps.Copy(want, c.want)
			want[file] = c.file
			if c.file == "" {
				want[file] = got[file] // the archive stays
			}
			if diff := cmp.Diff(want, got); diff != "" {
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
		if err := newTestFetcher(t).Fetch(t.Context(), uri(value, output("sub/p"), executable), sandbox); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"sub/": "", "sub/p": "-rwxr-xr-x hi"}, tree(t, sandbox)); diff != "" {
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
		url + "/x.tar.gz":               "unpack",
		url + "/x.zip":                  "unpack",
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
	if err := newTestFetcher(t).Fetch(t.Context(), uri(url+"/x", output("../x")), t.TempDir()); err == nil || !strings.Contains(err.Error(), "not within the sandbox") {
		t.Errorf("output file outside: %v", err)
	}
}

// Archives cannot write outside of the sandbox, and cannot grow without bounds.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, bad := range map[string][]member{
		"dots":             {{name: "../evil", body: "x"}},
		"absolute":         {{name: filepath.Join(outside, "evil"), body: "x"}},
		"through a link":   {{name: "l", link: outside}, {name: "l/evil", body: "x"}},
		"through dots":     {{name: "l", link: "../.."}, {name: "l/evil", body: "x"}},
		"too many entries": {{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}},
		"too many bytes":   {{name: "a", body: strings.Repeat("x", 2000)}},
	} {
		for suffix, pack := range map[string]func(*testing.T, []member) []byte{".tar": tarOf, ".zip": zipOf} {
			t.Run(name+suffix, func(t *testing.T) {
				t.Parallel()
				url, _ := content(t, pack(t, bad))
				f := newTestFetcher(t, func(o *Options) { o.UnpackedFiles, o.UnpackedBytes = 3, 1000 })
				parent := t.TempDir()
				sandbox := filepath.Join(parent, "in", "sandbox")
				if err := os.MkdirAll(sandbox, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := f.Fetch(t.Context(), uri(url+"/a"+suffix), sandbox); err == nil {
					t.Error("it was unpacked")
				}
				for _, dir := range []string{outside, parent, filepath.Dir(sandbox)} {
					if _, err := os.Lstat(filepath.Join(dir, "evil")); err == nil {
						t.Errorf("evil was written to %s", dir)
					}
				}
			})
		}
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

// Many at once make one download; another URI pushes the oldest out of a full cache.
func TestCache(t *testing.T) {
	t.Parallel()
	url, asked := content(t, bytes.Repeat([]byte("x"), 1000))
	f := newTestFetcher(t, func(o *Options) { o.CacheBytes = 2500 })
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
	for _, step := range []struct {
		path  string
		total int32
	}{{"/b", 2}, {"/a", 2}, {"/c", 3}, {"/a", 3}, {"/b", 4}, {"/c", 5}} {
		fetch(step.path)
		if n := asked.Load(); n != step.total {
			t.Fatalf("%d downloads after %s, want %d", n, step.path, step.total)
		}
	}
	if entries, err := os.ReadDir(f.options.CacheDir); err != nil || len(entries) != 2 {
		t.Errorf("cache holds %v, %v", entries, err)
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

// A cached program has one copy, however many sandboxes hold it: in each it can be executed at once, and what happens to its name there
// reaches no other one.
func TestCachedProgramIsLinked(t *testing.T) {
	t.Parallel()
	url, asked := content(t, []byte("#!/bin/sh\necho runs\n"))
	f := newTestFetcher(t, func(o *Options) { o.CacheBytes = 60 })
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
		if out, err := exec.Command(other).Output(); err != nil || string(out) != "runs\n" {
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
		if out, err := exec.Command(fetch("/program", cached, executable)).Output(); err != nil || string(out) != "runs\n" {
			t.Errorf("wrote %q, %v", out, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
	// Pushed out of the cache, or never in it.
	kept := fetch("/program", cached, executable)
	for i := range 5 {
		fetch(fmt.Sprint("/other-", i), cached, executable)
	}
	if out, err := exec.Command(kept).Output(); err != nil || string(out) != "runs\n" {
		t.Errorf("wrote %q, %v", out, err)
	}
	f.cache.limit = 1
	if out, err := exec.Command(fetch("/large", cached, executable)).Output(); err != nil || string(out) != "runs\n" {
		t.Errorf("wrote %q, %v", out, err)
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
				for {
					err := exec.Command(name).Run()
					if err == nil {
						return
					}
					// See the agent's start: another goroutine forks just now.
					if !errors.Is(err, syscall.ETXTBSY) {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
}
