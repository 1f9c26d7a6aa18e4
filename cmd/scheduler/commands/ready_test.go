package commands

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
)

func TestReadySaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
		case "/busy/readyz":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"detail":"no leader"}`))
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	}))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	t.Cleanup(server.Close)
	for _, c := range []struct{ server, want string }{
		{server.URL, ""},
		{server.URL + "/", ""},
		{server.URL + "/busy", "no leader"},
		{closed.URL, "connection refused"},
		{"127.0.0.1:8899", "--server"},
	} {
		readySays(t, c.want, "--server", c.server)
	}
}

// TestAliveAsksForNothingElse: a server that answers is alive, even if it is not ready.
func TestAliveAsksForNothingElse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
		case "/sick/healthz":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	readySays(t, "", "--alive", "--server", server.URL)
	readySays(t, "the server is not well: 500", "--alive", "--server", server.URL+"/sick")
}

// readySays runs the command with these flags. want is a part of the expected error; empty for none.
func readySays(t *testing.T, want string, args ...string) {
	t.Helper()
	cmd := New()
	cmd.SetArgs(append([]string{"ready"}, args...))
	if err := cmd.ExecuteContext(t.Context()); want == "" && err != nil ||
		want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("ready %q: %v, want %q", args, err, want)
	}
}

// TestReadyFindsItsServer: the command finds the server by the server's own flags, with TLS too.
func TestReadyFindsItsServer(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain := httptest.NewServer(ok)
	t.Cleanup(plain.Close)
	authority := certificates.New(t)
	cert, key := authority.Good().Write(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(ok)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	_, tlsPort, _ := net.SplitHostPort(secure.Listener.Addr().String())
	withTLS := []string{"--tls-cert", cert, "--tls-key", key, "--tls-ca", authority.File}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "127.0.0.1:" + port}, ""},
		{[]string{"--listen", "0.0.0.0:" + port, "--advertise", "scheduler1:8899"}, ""},
		{[]string{"--listen", ":" + port, "--zk", "zk1:2181", "--mesos", "http://m:5050"},
			""}, // other flags of the server are ignored
		{[]string{"--listen", "127.0.0.1:0"}, "--server"},
		{[]string{"--listen", "8899"}, "host:port"},
		{append(withTLS, "--listen", "127.0.0.1:"+tlsPort), ""},
		{append(withTLS, "--listen", "0.0.0.0:"+tlsPort, "--advertise", "localhost:443"), ""},
		{append(withTLS, "--listen", "0.0.0.0:"+tlsPort, "--advertise", "other.example:443"), "other.example"},
		{[]string{"--listen", "127.0.0.1:" + tlsPort}, "400"}, // the request was sent without TLS
		{[]string{"--server", secure.URL}, "unknown authority"},
		{[]string{"--server", secure.URL, "--tls-ca", authority.File}, ""},
		{[]string{"--server", secure.URL, "--tls-ca", key}, "no certificate"},
	} {
		readySays(t, c.want, c.args...)
	}
}
