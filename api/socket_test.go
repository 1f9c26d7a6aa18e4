package api_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

// ofCarol accepts connections whose peer is the user carol.
type ofCarol struct{ net.Listener }

func (l ofCarol) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return carols{conn}, err
}

type carols struct{ net.Conn }

func (carols) PeerName() string { return "carol" }

// overSocket serves on a Unix socket until stop is called.
func overSocket(t *testing.T, s *api.Server) (client *http.Client, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // short, because a socket's path has at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeSocket(ctx, ofCarol{l}) }()
	client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	t.Cleanup(cancel)
	return client, func() {
		client.CloseIdleConnections()
		cancel()
		if err := await(t, "the socket's server", ended); err != nil {
			t.Error(err)
		}
	}
}
