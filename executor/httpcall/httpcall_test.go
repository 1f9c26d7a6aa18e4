package httpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// rude starts a server that need not speak HTTP: it reads one byte of every connection, calls talk, and keeps the
// connection open until the test ends. It returns the server's URL.
func rude(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	ended := make(chan struct{})
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1))
				talk(conn)
				<-ended
			})
		}
	})
	t.Cleanup(func() {
		close(ended)
		l.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
	}
}

func serving(t *testing.T, serve http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return s.URL
}

// ask makes a request with timeouts that are long enough on a busy machine, unless r sets them.
func ask(ctx context.Context, r wire.HTTP, shard string) (status int, output string, err error) {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.ConnectTimeoutMillis == 0 {
		r.ConnectTimeoutMillis = 20_000
	}
	if r.ReadTimeoutMillis == 0 {
		r.ReadTimeoutMillis = 20_000
	}
	var out bytes.Buffer
	status, err = Do(ctx, r, shard, &out)
	return status, out.String(), err
}

func TestRequestIsWhatTheJobSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r                       wire.HTTP
		body, contentType, auth string
	}{
		{wire.HTTP{Method: "GET", Data: "not sent"}, "", "", ""},
		{wire.HTTP{Method: "POST", Data: "a=1&b=ü"}, "a=1&b=ü", "application/x-www-form-urlencoded", ""},
		{wire.HTTP{Method: "PUT", Data: `{"a":1}`, ContentType: "application/json"}, `{"a":1}`, "application/json", ""},
		{wire.HTTP{Method: "PATCH", Data: "x", ContentType: "text/plain"}, "x", "text/plain", ""},
		{wire.HTTP{Method: "DELETE", Data: "x"}, "x", "application/x-www-form-urlencoded", ""},
		{wire.HTTP{Method: "POST"}, "", "", "me:secret"},
		{wire.HTTP{Method: "HEAD"}, "", "", ""},
	} {
		t.Run(tt.r.Method, func(t *testing.T) {
			t.Parallel()
			const shard = `{"taskId":"t1","jobParameter":"naïve 😀 \n` + "\x7f" + `","shardingItem":2}`
			url := serving(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var got, want any
				header := r.Header.Get("shardingContext")
				if err := errors.Join(json.Unmarshal([]byte(header), &got),
					json.Unmarshal([]byte(shard),
						&want)); err != nil || fmt.Sprint(got) != fmt.Sprint(want) ||
					!strings.Contains(header, `na\u00efve \ud83d\ude00 \n\u007f`) {
					t.Errorf("shardingContext is %s, %v", header, err)
				}
				user, password, _ := r.BasicAuth()
				if r.Method != tt.r.Method || string(body) != tt.body ||
					r.Header.Get("Content-Type") != tt.contentType || user+":"+password != max(tt.auth, ":") {
					t.Errorf("%s %q of %q by %s:%s", r.Method, body, r.Header.Get("Content-Type"), user, password)
				}
			})
			r := tt.r
			r.URL = url
			if tt.auth != "" {
				r.URL = strings.Replace(url, "//", "//"+tt.auth+"@", 1)
			}
			if status, output, err := ask(t.Context(), r, shard); err != nil || status != 200 ||
				output != "HTTP/1.1 200 OK\n" {
				t.Errorf("%d, %q, %v", status, output, err)
			}
		})
	}
}

// The name of the header has exactly the original's case, for servers that compare it literally.
func TestHeaderName(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	url := rude(t, func(conn net.Conn) {
		head := make([]byte, 4096)
		n, _ := conn.Read(head)
		got <- string(head[:n])
		says("HTTP/1.1 204 No Content\r\n\r\n")(conn)
	})
	if status, _, err := ask(t.Context(), wire.HTTP{URL: url}, `{"a":1}`); status != 204 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if head := <-got; !strings.Contains(head, "\r\nshardingContext: {\"a\":1}\r\n") {
		t.Errorf("sent %q", head)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 1<<10) // 16 KiB
	for name, tt := range map[string]struct {
		serve  http.HandlerFunc
		status int
		output string   // "" for any
		causes []string // none for success
	}{
		"success with a body": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done\n") }, 200, "HTTP/1.1 200 OK\ndone\n", nil},
		"created":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }, 201, "HTTP/1.1 201 Created\n", nil},
		"failure": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such table", 500) }, 500,
			"HTTP/1.1 500 Internal Server Error\nno such table\n",
			[]string{"answered 500 Internal Server Error:\nno such table"}},
		"failure of bytes": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			_, _ = w.Write([]byte("\xff\xfe\x00na\xefve\x1b[31m\n"))
		}, 404, "HTTP/1.1 404 Not Found\n\xff\xfe\x00na\xefve\x1b[31m\n",
			[]string{"answered 404 Not Found:\n\ufffdna\ufffdve"}},
		"failure with a long body": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			_, _ = io.WriteString(w, long)
		}, 503, "HTTP/1.1 503 Service Unavailable\n" + long, []string{"503", long[:1<<10]}},
		"huge body": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1 << 10 {
				_, _ = io.WriteString(w, long)
			}
		}, 200, "HTTP/1.1 200 OK\n" + strings.Repeat(long, 4), nil},
		"body that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, 200, "HTTP/1.1 200 OK\nhalf", []string{"status 200 OK, and the answer broke off", "unexpected EOF"}},
		"informational first": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(200)
		}, 200, "HTTP/1.1 200 OK\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, output, err := ask(t.Context(), wire.HTTP{URL: serving(t, tt.serve)}, "{}")
			expect(t, err, tt.causes)
			if status != tt.status || tt.output != "" && output != tt.output {
				t.Errorf("status %d and output of %d bytes %.100q; want %d, %d bytes %.100q", status, len(output),
					output, tt.status, len(tt.output), tt.output)
			}
		})
	}
}

func expect(t *testing.T, err error, causes []string) {
	t.Helper()
	if (err == nil) != (len(causes) == 0) {
		t.Errorf("got %v, want %q", err, causes)
	}
	for _, want := range causes {
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "hidden") || len(err.Error()) > 2*maxCause) {
		t.Errorf("the error shows a secret or is too long: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s reached another server with %q", r.Method, r.Header)
	})
	var url string
	url = serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end":
			if r.Header.Get("shardingContext") != "{}" {
				t.Errorf("the second request has %q", r.Header)
			}
		case "/here":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/there":
			http.Redirect(w, r, other+"/end", http.StatusTemporaryRedirect)
		case "/down":
			http.Redirect(w, r, strings.Replace(url, "http:", "ftp:", 1), http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	})
	for _, tt := range []struct {
		method, path string
		status       int
		causes       []string
	}{
		{"GET", "/here", 200, nil},
		{"HEAD", "/here", 200, nil},
		{"POST", "/here", 302, []string{"answered 302 Found, a redirect to 127.0.0.1:", "not followed"}},
		{"GET", "/there", 307, []string{"a redirect to " + strings.TrimPrefix(other, "http://") + ", which is not followed"}},
		{"GET", "/down", 302, []string{"not followed"}},
		{"GET", "/round", 302, []string{"up to 10"}},
	} {
		t.Run(tt.method+tt.path, func(t *testing.T) {
			t.Parallel()
			status, _, err := ask(t.Context(), wire.HTTP{URL: url + tt.path, Method: tt.method, Data: "x"}, "{}")
			if expect(t, err, tt.causes); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
		})
	}
}

// TestHeaders checks a job's own headers, which may name another virtual host.
func TestHeaders(t *testing.T) {
	t.Parallel()
	url := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("User-Agent") != "mine" ||
			r.Host != "inside.example.com" {
			t.Errorf("%s %v", r.Host, r.Header)
		}
	})
	headers := map[string]wire.Header{"authorization": {Value: "Bearer x"}, "User-Agent": {Value: "mine"},
		"host": {Value: "inside.example.com"}}
	if _, _, err := ask(t.Context(), wire.HTTP{URL: url, Headers: headers}, "{}"); err != nil {
		t.Error(err)
	}
}

func TestRequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	url := serving(t, func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("killed")
	context.AfterFunc(t.Context(), func() { cancel(nil) })
	go func() {
		<-began
		cancel(why)
	}()
	if _, _, err := ask(ctx, wire.HTTP{URL: url}, "{}"); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

// A server may work while it answers: each part of the answer renews the read timeout.
func TestSlowAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	const parts = 10
	url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		for range parts {
			_, _ = io.WriteString(w, ".")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond) // simulates a slow server; the test does not rely on the time
		}
	})
	status, output, err := ask(t.Context(), wire.HTTP{URL: url, ReadTimeoutMillis: 900}, "{}")
	if status != 200 || err != nil || output != "HTTP/1.1 200 OK\n"+strings.Repeat(".", parts) {
		t.Errorf("%d, %q, %v", status, output, err)
	}
}
