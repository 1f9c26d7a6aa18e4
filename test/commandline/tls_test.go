package commandline_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestTLS: a certificate that the machine does not trust is named once, in a context. Without it nothing is sent, and
// the error says what to do.
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
	// With HTTP/2, watching the run and following its output use one connection.
	u.has(u.does("job", "trigger", "nightly", "--logs"), "0| hello from 0\n", "1| hello from 1\n")
}
