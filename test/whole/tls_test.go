package whole_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestTLS: with --local, jobs run although this machine does not trust the server's certificate, because the executor
// is read from disk.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	cert, key := ca.Good().Write(t, t.TempDir())
	m := system.New(t, bin)
	m.Trust(ca.Pool())
	m.Start("--tls-cert", cert, "--tls-key", key)
	m.App("app", system.Files{"bin/start.sh": "#!/bin/sh\necho over TLS\n"}, nil)
	m.Job("job", "app", nil)
	e := m.Run("job", "FINISHED")
	if got := m.Logs(e.Shards[0].TaskID, ""); got != "over TLS\n" {
		t.Errorf("output %q", got)
	}
}
