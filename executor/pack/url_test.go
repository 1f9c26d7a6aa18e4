package pack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// longScript is long enough to be sent in several parts; other is the content that replaces it.
var (
	longScript = "#!/bin/sh\n" + strings.Repeat("# 0123456789\n", 20_000)
	other      = "#!/bin/sh\n" + strings.Repeat("# something else\n", 15_000)
)

// TestURL checks the results of various behaviours of servers.
func TestURL(t *testing.T) {
	t.Parallel()
	archive := tarOf(t, plain("a"))
	zipped := string(compressed(t, archive, gz))
	half := len(longScript) / 2
	resume := fmt.Sprintf("bytes=%d-", half)
	for _, test := range []struct {
		name       string
		path       string // /job.sh if empty
		answer     answer
		change     func(*pack.Limits)
		sum        string
		want       string   // part of the error, or
		content    string   // content of the file
		requests   int      // expected number, if it matters
		unanswered bool     // the error has it set
		ranges     []string // Range of each request
	}{
		{name: "good", answer: whole(longScript), content: longScript, requests: 1},
		{name: "without length, by HTTP 1.0", answer: bare(t, "HTTP/1.0 200 OK\r\n\r\n"+longScript), content: longScript},
		{name: "dribbles", answer: func(w http.ResponseWriter, r request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "#")
				_ = http.NewResponseController(w).Flush()
				<-time.After(5 * time.Millisecond)
			}
		}, change: func(l *pack.Limits) { l.Transfer = 150 * time.Millisecond }, want: "not fetched within 150ms",
			requests: 1},
		{name: "dribbles with the limits in no hurry", answer: func(w http.ResponseWriter, r request) {
			for i := range 40 {
				_, _ = io.WriteString(w, longScript[i:i+1])
				_ = http.NewResponseController(w).Flush()
				<-time.After(5 * time.Millisecond)
			}
		}, change: func(l *pack.Limits) { l.Stall = 5 * time.Second }, content: longScript[:40]},
		{name: "silent before it answers", answer: func(w http.ResponseWriter, r request) { <-r.Context().Done() },
			change: func(l *pack.Limits) { l.Stall = 400 * time.Millisecond }, want: "the transfer stalled",
			requests: 2},
		{name: "silent for too long before it answers", answer: func(w http.ResponseWriter, r request) { <-r.Context().Done() },
			change: func(l *pack.Limits) { l.FirstByte = 400 * time.Millisecond },
			want:   "the server sent no data within 400ms", requests: 1, unanswered: true},
		{name: "silent for too long behind its headers", answer: func(w http.ResponseWriter, r request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, change: func(l *pack.Limits) { l.FirstByte = 400 * time.Millisecond },
			want: "the server sent no data within 400ms", requests: 1, unanswered: true},
		{name: "slow behind its first byte", answer: func(w http.ResponseWriter, r request) {
			// The limit is far above the time that a busy machine takes for a first byte, and the pause beyond the
			// limit.
			_, _ = io.WriteString(w, longScript[:1])
			_ = http.NewResponseController(w).Flush()
			<-time.After(2500 * time.Millisecond)
			_, _ = io.WriteString(w, longScript[1:40])
		}, change: func(l *pack.Limits) { l.FirstByte = 2 * time.Second }, content: longScript[:40]},
		{name: "drips", answer: func(w http.ResponseWriter, r request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "#")
				_ = http.NewResponseController(w).Flush()
				<-time.After(5 * time.Millisecond)
			}
		}, change: func(l *pack.Limits) { l.RateOver = 200 * time.Millisecond },
			want: "at least 1024 a second are required", requests: 1},
		{name: "drips in the end", answer: func(w http.ResponseWriter, r request) {
			_, _ = io.WriteString(w, longScript)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "#")
				_ = http.NewResponseController(w).Flush()
				<-time.After(5 * time.Millisecond)
			}
		}, change: func(l *pack.Limits) { l.RateOver = 200 * time.Millisecond },
			want: "at least 1024 a second are required", requests: 1},
		{name: "closes without an answer", answer: func(http.ResponseWriter, request) { panic(http.ErrAbortHandler) }, want: "EOF", requests: 2, unanswered: true},
		{name: "silent in between", answer: func(w http.ResponseWriter, r request) {
			_, _ = io.WriteString(w, "#!")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, change: func(l *pack.Limits) { l.Stall = 400 * time.Millisecond },
			want: "broken after 2 bytes: the transfer stalled", requests: 2},
		{name: "breaks off each time", answer: func(w http.ResponseWriter, r request) { brokenOff(w, longScript) }, want: fmt.Sprintf("broken after %d bytes: unexpected EOF", half), requests: 2},
		{name: "breaks off without length", answer: func(w http.ResponseWriter, r request) {
			_, _ = io.WriteString(w, "#!")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, want: "broken after 2 bytes", requests: 2},
		{name: "ends early without length", path: "/p.tgz", answer: bare(t, "HTTP/1.0 200 OK\r\n\r\n"+zipped[:len(zipped)-20]), want: "cut off"},
		{name: "says more than it sends", answer: bare(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n#!/bin/sh"), want: "broken after 9 bytes: unexpected EOF", requests: 2},
		{name: "says less than it sends", path: "/p.tgz", answer: bare(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(zipped)-8)+zipped), want: "cut off"},
		{name: "says nonsense", answer: bare(t, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n#!/bin/sh"), want: "answer is not HTTP", requests: 2},
		{name: "isn't HTTP", answer: bare(t, "220 ftp ready\r\n"), want: "answer is not HTTP", requests: 2},
		{name: "huge by its own word", answer: func(w http.ResponseWriter, r request) {
			w.Header().Set("Content-Length", "1099511627776")
			w.WriteHeader(http.StatusOK)
		}, want: "has 1099511627776 bytes; at most 4294967296 are allowed", requests: 1},
		{name: "endless", answer: func(w http.ResponseWriter, r request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		}, change: func(l *pack.Limits) { l.Download = 50_000 }, want: "more than 50000 bytes", requests: 1},
		{name: "404", answer: func(w http.ResponseWriter, r request) { http.NotFound(w, r.Request) }, want: "404 Not Found", requests: 1},
		{name: "403", answer: func(w http.ResponseWriter, r request) { w.WriteHeader(http.StatusForbidden) }, want: "403 Forbidden", requests: 1},
		{name: "a part without a Range header", answer: func(w http.ResponseWriter, r request) { part(w, `"a"`, longScript, 10) }, want: "206 Partial Content", requests: 1},
		{name: "304 without a condition", answer: func(w http.ResponseWriter, r request) { w.WriteHeader(http.StatusNotModified) }, want: "304 Not Modified", requests: 1},
		{name: "500, then good", answer: func(w http.ResponseWriter, r request) {
			if r.number == 1 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			whole(longScript)(w, r)
		}, content: longScript, requests: 2},
		{name: "500 each time", answer: func(w http.ResponseWriter, r request) { w.WriteHeader(http.StatusInternalServerError) }, want: "500 Internal Server Error", requests: 2, unanswered: true},
		{name: "redirection", answer: func(w http.ResponseWriter, r request) {
			if r.number < 5 {
				http.Redirect(w, r.Request, fmt.Sprint("/", r.number), http.StatusFound)
				return
			}
			whole(longScript)(w, r)
		}, content: longScript, requests: 5},
		{name: "redirections in a loop", answer: func(w http.ResponseWriter, r request) {
			http.Redirect(w, r.Request, "/job.sh", http.StatusMovedPermanently)
		}, want: "more than 10 redirections", requests: 11},
		{name: "redirection to a file", answer: func(w http.ResponseWriter, r request) {
			http.Redirect(w, r.Request, "file:///etc/passwd", http.StatusFound)
		},
			want: "redirects to a URL of scheme \"file\"; only http and https", requests: 1},
		{name: "redirection to ftp", answer: func(w http.ResponseWriter, r request) { http.Redirect(w, r.Request, "ftp://h/x", http.StatusFound) }, want: "only http and https", requests: 1},
		{name: "wrong sum", answer: whole(longScript), sum: strings.Repeat("ab", 32), want: "but the app's is abab", requests: 1},
		{name: "compressed archive, sent as encoding", path: "/p.tgz", answer: func(w http.ResponseWriter, r request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped)
		}, content: "x"},
		{name: "encoded though identity was asked for", answer: func(w http.ResponseWriter, r request) {
			if got := r.Header.Get("Accept-Encoding"); got != "identity" {
				t.Errorf("Accept-Encoding: %q", got)
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(compressed(t, []byte(longScript), gz))
		}, want: "gzip data that contains no tar"},
		{name: "resumes", answer: resumed(`"a"`, func(w http.ResponseWriter, r request) { part(w, `"a"`, longScript, half) }), content: longScript, ranges: []string{"", resume}},
		{name: "resumes without a new tag", answer: resumed(`"a"`, func(w http.ResponseWriter, r request) {
			if got := r.Header.Get("If-Range"); got != `"a"` {
				t.Errorf("If-Range: %q", got)
			}
			part(w, "", longScript, half)
		}), content: longScript, ranges: []string{"", resume}},
		{name: "ignores the range", answer: resumed(`"a"`, whole(longScript)), content: longScript, ranges: []string{"", resume}},
		{name: "changed meanwhile", answer: resumed(`"a"`, whole(other)), content: other, ranges: []string{"", resume}},
		{name: "changed meanwhile, If-Range not understood",
			answer: resumed(`"a"`, func(w http.ResponseWriter, r request) {
				if r.number == 2 {
					part(w, `"b"`, other, half)
					return
				}
				whole(other)(w, r)
			}), content: other, ranges: []string{"", resume, ""}, change: func(l *pack.Limits) { l.Tries = 3 }},
		{name: "changed in size only", answer: resumed(`"a"`, func(w http.ResponseWriter, r request) {
			if r.number == 2 {
				part(w, `"a"`, longScript+"#", half)
				return
			}
			whole(other)(w, r)
		}), content: other, ranges: []string{"", resume, ""}, change: func(l *pack.Limits) { l.Tries = 3 }},
		{name: "another range than asked for", answer: resumed(`"a"`, func(w http.ResponseWriter, r request) {
			if r.number == 2 {
				part(w, `"a"`, longScript, 7)
				return
			}
			whole(longScript)(w, r)
		}), content: longScript, ranges: []string{"", resume, ""}, change: func(l *pack.Limits) { l.Tries = 3 }},
		{name: "range refused", answer: resumed(`"a"`, func(w http.ResponseWriter, r request) {
			if r.number == 2 {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			whole(longScript)(w, r)
		}), content: longScript, ranges: []string{"", resume, ""}, change: func(l *pack.Limits) { l.Tries = 3 }},
		{name: "a weak tag can't be resumed by", answer: resumed(`W/"a"`, whole(longScript)), content: longScript, ranges: []string{"", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var ranges []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				ranges = append(ranges, r.Header.Get("Range"))
				n := len(ranges)
				mu.Unlock()
				test.answer(w, request{n, r})
			}))
			defer server.Close()
			limits := pack.Defaults()
			limits.Tries = 2
			if test.change != nil {
				test.change(&limits)
			}
			place := t.TempDir()
			store, err := pack.Open(place, filepath.Join(place, "packages"), limits, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			got, err := store.Get(context.Background(),
				pack.Source{URL: server.URL + cmpOr(test.path, "/job.sh"), SHA256: test.sum, Cache: true})
			var failed *pack.Error
			switch {
			case test.want != "" && (!errors.As(err, &failed) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v; want %q", err, test.want)
			case test.want != "" && (failed.Unreachable != "" || failed.Unanswered != test.unanswered):
				t.Errorf("unreachable is %q, unanswered %v", failed.Unreachable, failed.Unanswered)
			case test.content != "" && err != nil:
				t.Error(err)
			case test.content != "":
				name := map[bool]string{true: "job.sh", false: "a"}[test.path == ""]
				if text, err := os.ReadFile(filepath.Join(got.Dir, name)); err != nil || string(text) != test.content {
					t.Errorf("got %d bytes, want %d (%v)", len(text), len(test.content), err)
				}
			}
			mustHold(t, filepath.Join(place, "tmp"), 0)
			mu.Lock()
			defer mu.Unlock()
			if test.requests > 0 && len(ranges) != test.requests {
				t.Errorf("%d requests, want %d", len(ranges), test.requests)
			}
			if test.ranges != nil && strings.Join(ranges, "|") != strings.Join(test.ranges, "|") {
				t.Errorf("ranges %q, want %q", ranges, test.ranges)
			}
		})
	}
}

// TestAnswersOfOtherServicesAreHidden: a user who names a URL can't read the answer of a service that is no web server.
func TestAnswersOfOtherServicesAreHidden(t *testing.T) {
	t.Parallel()
	limits := pack.Defaults()
	limits.Tries = 1
	store := open(t, t.TempDir(), limits)
	for says, want := range map[string]string{
		"SSH-2.0-private\r\n": "answer is not HTTP", "-ERR private\r\n": "answer is not HTTP",
		"HTTP/1.1 404 private\r\n\r\n": "answers 404 Not Found", "HTTP/1.1 299 private\r\n\r\n": "answers 299",
		"HTTP/1.1 200 OK\r\nprivate\r\n\r\n": "answer is not HTTP",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if strings.HasPrefix(says, "HTTP") { // the other services speak first
				_, _ = conn.Read(make([]byte, 1))
			}
			_, _ = io.WriteString(conn, says)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}()
		_, err = store.Get(context.Background(), pack.Source{URL: "http://" + listener.Addr().String() + "/job.sh"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "private") {
			t.Errorf("%q: got %v, want …%s…", says, err, want)
		}
		_ = listener.Close()
		<-done
	}
}

// TestUnreachable checks the errors of packages at an address that does not answer, or does not exist.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	limits := pack.Defaults()
	limits.Tries = 2
	store := open(t, t.TempDir(), limits)
	for host, want := range map[string]string{closed: "connection refused", "no.such.invalid": "no.such.invalid"} {
		for _, cache := range []bool{true, false} {
			_, err := store.Get(context.Background(),
				pack.Source{URL: "http://me:secret@" + host + "/job.sh", Cache: cache})
			var failed *pack.Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) ||
				failed.Unreachable != wire.HostPort("http://"+host) || failed.Unanswered {
				t.Errorf("%s: got %+v", host, err)
			}
		}
		shown := map[string]string{closed: "the connection is refused",
			"no.such.invalid": "its name is not found"}[host]
		if _, err := pack.Inspect(t.Context(), pack.Source{URL: "http://" + host + "/job.sh"}, t.TempDir(), 1, limits,
			os.Open); err == nil ||
			!strings.HasSuffix(err.Error(), "/job.sh: "+shown) {
			t.Errorf("%s, inspected: got %v", host, err)
		}
	}
}

// TestFileURL checks the errors of paths that are no file, and of files that are too large.
func TestFileURL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	store := open(t, t.TempDir(), pack.Defaults())
	for path, want := range map[string]string{
		pipe: "not a regular file", dir: "not a regular file", "/dev/zero": "not a regular file",
		large: "has 1099511627776 bytes", filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := store.Get(context.Background(), pack.Source{URL: "file://" + path, Cache: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q", path, err, want)
		}
	}
}

// TestSecretsInURLs: a password is not reported.
func TestSecretsInURLs(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir(), limitsWith(time.Hour))
	for _, sum := range []string{"", "00"} {
		_, err := store.Get(context.Background(), pack.Source{URL: "http://me:sesame@127.0.0.1:1/x", SHA256: sum})
		if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "me:xxxxx@") {
			t.Errorf("got %v", err)
		}
	}
}

// TestLeftovers: the unfinished work of a killed executor is removed by the next one.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir, pack.Defaults())
	old, young := filepath.Join(dir, "tmp", "fetch-1"), filepath.Join(dir, "tmp", "fetch-2")
	for _, folder := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(folder, "package"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	open(t, dir, pack.Defaults())
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%s is left", old)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("%s is gone", young)
	}
}
