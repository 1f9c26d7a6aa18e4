package commandline_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestTLS: a certificate that this machine does not trust is named once, in a context; without it nothing is sent, and
// what to do is said.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	cert, key := ca.Good().Write(t, t.TempDir())
	m := system.New(t, bin)
	m.Trust(ca.Pool())
	m.Start("--tls-cert", cert, "--tls-key", key)
	u := userOf(m)
	u.fails(7, []string{"--ca", "unknown authority"}, "job", "list")
	u.fails(1, []string{"write https://"}, "--server", strings.Replace(u.URL(), "https:", "http:", 1), "job", "list")
	u.env = nil
	u.does("context", "set", "test", "--server", m.URL(), "--ca", cert)
	u.publishes(greets)
	// HTTP/2 is spoken: the run is watched, and its output followed, on one connection.
	u.has(u.does("job", "trigger", "nightly", "--logs"), "0| hello from 0\n", "1| hello from 1\n")
}
