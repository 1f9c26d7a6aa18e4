package executor_test

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// An executor that has only what the scheduler put into its ExecutorInfo uses TLS with its agent.
func TestAgentThatSpeaksTLS(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	known.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw})
	a := newAgentOver(t, &tls.Config{Certificates: known.TLS.Certificates}, t.TempDir(),
		env("LIBPROCESS_SSL_ENABLED", "true"), env("ELASTICJOB_MESOS_CA", string(ca)))
	a.launch(taskOf("t1", script(t, `test -z "$ELASTICJOB_MESOS_CA$LIBPROCESS_SSL_ENABLED"`)))
	a.await("t1", mesos.TASK_FINISHED)
}
