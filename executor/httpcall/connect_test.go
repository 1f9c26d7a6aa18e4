package httpcall

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	secured := httptest.NewUnstartedServer(nil)
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	t.Cleanup(secured.Close)
	for name, tt := range map[string]struct {
		r      wire.HTTP
		causes []string
	}{
		"no listener":          {wire.HTTP{URL: "http://" + closed.Addr().String() + "/?hidden", ConnectTimeoutMillis: 50}, []string{"no connection to " + closed.Addr().String() + ", tried for 50ms (http.connect.timeout.milliseconds)", "refused"}},
		"no such host":         {wire.HTTP{URL: "http://me:hidden@nobody.invalid/", ConnectTimeoutMillis: 50}, []string{"no connection to nobody.invalid"}},
		"silence":              {wire.HTTP{URL: rude(t, func(net.Conn) {}), ReadTimeoutMillis: 50}, []string{"no answer: nothing came within 50ms (http.read.timeout.milliseconds)"}},
		"silence in the body":  {wire.HTTP{URL: rude(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nx") }), ReadTimeoutMillis: 50}, []string{"status 200 OK, and the answer broke off: nothing came within 50ms"}},
		"silence at the TLS":   {wire.HTTP{URL: strings.Replace(rude(t, func(net.Conn) {}), "http:", "https:", 1), ConnectTimeoutMillis: 50}, []string{"no connection to ", "within 50ms (http.connect.timeout.milliseconds)"}},
		"unknown certificate":  {wire.HTTP{URL: secured.URL}, []string{"no connection to ", "certificate", "--ca-file"}},
		"closed at once":       {wire.HTTP{URL: rude(t, func(c net.Conn) { c.Close() })}, []string{"no answer: "}},
		"no HTTP":              {wire.HTTP{URL: rude(t, says("220 smtp.example ESMTP\r\n"))}, []string{"no answer: ", "malformed"}},
		"a header without end": {wire.HTTP{URL: rude(t, says("HTTP/1.1 200 OK\r\nx: "+strings.Repeat("y", 100<<10)))}, []string{"no answer: ", "exceeded"}},
		"bad method":           {wire.HTTP{URL: "http://me:hidden@127.0.0.1", Method: "G T"}, []string{`http.method "G T"`}},
		"bad URL":              {wire.HTTP{URL: "http://me:hidden@[::1"}, []string{"http.url"}},
		"no host":              {wire.HTTP{URL: "http:///hidden"}, []string{"http.url"}},
		"of another scheme":    {wire.HTTP{URL: "ftp://127.0.0.1/hidden"}, []string{"http.url"}},
		"header that can't be": {wire.HTTP{URL: serving(t, func(http.ResponseWriter, *http.Request) {}), Method: "POST", Data: "x", ContentType: "a\r\nb: c"}, []string{"no answer", "invalid header"}},
		"body that is not read": {wire.HTTP{URL: rude(t, func(net.Conn) {}), Method: "POST", Data: strings.Repeat("x", 32<<20), ReadTimeoutMillis: 50},
			[]string{"no answer: nothing came within 50ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ask(t.Context(), tt.r, "{}")
			expect(t, err, tt.causes)
		})
	}
}

// TestServersThatListenLater checks that a refused connection is attempted again, for every method: nothing was sent.
func TestServersThatListenLater(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			// A socket that does not listen yet holds the port and refuses connections.
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			file := os.NewFile(uintptr(fd), "socket")
			defer file.Close()
			if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
				t.Fatal(err)
			}
			name, err := syscall.Getsockname(fd)
			if err != nil {
				t.Fatal(err)
			}
			url := fmt.Sprintf("http://127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
			if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatal(err)
			}
			requests := make(chan string, 2)
			server := http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				requests <- string(body)
			})}
			defer server.Close()
			later := time.AfterFunc(firstPause, func() {
				if err := syscall.Listen(fd, 8); err != nil {
					t.Error(err)
				}
				listener, err := net.FileListener(file)
				if err != nil {
					t.Error(err)
					return
				}
				_ = server.Serve(listener)
			})
			defer later.Stop()
			status, _, err := ask(t.Context(), wire.HTTP{URL: url, Method: method, Data: "x"}, "{}")
			if status != 200 || err != nil || len(requests) != 1 {
				t.Errorf("%d, %v, %d requests", status, err, len(requests))
			}
		})
	}
}

// TestProxies checks a proxy of a job, and one of the executor's environment, with plain requests and through a tunnel.
func TestProxies(t *testing.T) {
	asked := make(chan string, 8)
	proxy := serving(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Host
		if r.Method == http.MethodConnect {
			http.Error(w, "no tunnels", http.StatusForbidden)
		}
	})
	t.Setenv("HTTP_PROXY", proxy)
	for _, tt := range []struct{ url, proxy, asked string }{
		{"http://there.invalid/", proxy, "GET there.invalid"},
		{"http://there.invalid/", wire.ProxyEnvironment, "GET there.invalid"},
		{"https://there.invalid/", proxy, "CONNECT there.invalid:443"},
	} {
		_, _, err := ask(t.Context(), wire.HTTP{URL: tt.url, Proxy: tt.proxy}, "{}")
		if got := <-asked; got != tt.asked || (err == nil) != strings.HasPrefix(got, "GET") {
			t.Errorf("%+v: %s, %v", tt, got, err)
		}
	}
}

// A job that names no proxy uses none. A proxy in the environment is for the agent's operator.
func TestNoProxyIsUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	url := rude(t, says("HTTP/1.1 200 OK\r\n\r\n"))
	if _, _, err := ask(t.Context(), wire.HTTP{URL: url}, "{}"); err != nil {
		t.Error(err)
	}
}
