package wire_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func TestHostPort(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://h/x": "h:80", "https://h/x": "h:443", "HTTPS://me:secret@H/x": "h:443", "http://h:443/x": "h:443",
		"http://[::1]/x": "[::1]:80", "http://h:/x": "h:80", "file:///x": "", "http://:80/x": "", "%": "", "": "",
	} {
		if got := wire.HostPort(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
