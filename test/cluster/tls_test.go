package cluster_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// secured is a cluster whose servers use TLS, each with its own certificate of one authority.
type secured struct {
	*system.Cluster
	ca *certificates.Authority
}

func startSecured(t *testing.T, servers int) *secured {
	t.Helper()
	t.Parallel()
	c := &secured{system.NewCluster(t, bin, 1, nil), certificates.New(t)}
	c.Trust(c.ca.Pool())
	c.KillMesos()
	c.CAFile = c.ca.File // its agents fetch the executor from the servers
	c.StartMesos()
	for n := 1; n <= servers; n++ {
		if err := os.Mkdir(c.dir(n), 0o700); err != nil {
			t.Fatal(err)
		}
		c.ca.Good().Write(t, c.dir(n))
		c.StartServer(n, "--tls-cert", c.dir(n)+"/cert.pem", "--tls-key", c.dir(n)+"/key.pem", "--tls-ca", c.ca.File)
	}
	c.AwaitLeader()
	return c
}

func (c *secured) dir(n int) string { return filepath.Join(c.Dir, fmt.Sprint("tls-", n)) }

// presented returns the certificate that a server presents on a new connection.
func (c *secured) presented(n int) []byte {
	c.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.ServerURL(n), "https://"), &tls.Config{RootCAs: c.ca.Pool()})
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

// awaitPresented waits until a server presents the certificate of a pair.
func (c *secured) awaitPresented(n int, p certificates.Pair) {
	c.Helper()
	want, _ := pem.Decode(p.Cert)
	c.Until(fmt.Sprintf("server %d presents its new certificate", n), func() string {
		if !bytes.Equal(c.presented(n), want.Bytes) {
			return "it presents another one"
		}
		return ""
	})
}

// TestTLS: all connections between clients, servers and agents use https, whichever server leads.
func TestTLS(t *testing.T) {
	c := startSecured(t, 2)
	leader := c.AwaitLeader()
	follower := 3 - leader
	c.Via(follower)
	c.Ready()
	followLog(t, c.Cluster) // the executor is fetched over https

	answer, err := http.Get(strings.Replace(c.ServerURL(leader), "https://", "http://", 1) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), "HTTPS") {
		t.Errorf("plain http: %d %s", answer.StatusCode, said)
	}

	c.StartServer(3) // without TLS
	c.Via(3)
	c.Until("server 3 knows the leader", func() string {
		if a, err := c.Try("GET", "/readyz", ""); err != nil || a.Status != http.StatusOK {
			return fmt.Sprint(a.Body, err)
		}
		return ""
	})
	c.Refused(http.StatusServiceUnavailable, "tls_differs", "GET", "/api/job/jobs", "")
	c.Refused(http.StatusServiceUnavailable, "tls_differs", "POST", "/api/job/through/trigger", "")
	c.StopServer(3)

	c.KillServer(leader)
	c.AwaitLeader()
	c.Run("through", "FINISHED")
}

// TestCertificatesAreRenewedUnderTraffic: no request fails during the renewal of certificates, on kept or new
// connections, at the leader or through a standby. An unusable certificate changes nothing, and is reported.
func TestCertificatesAreRenewedUnderTraffic(t *testing.T) {
	c := startSecured(t, 2)
	c.App("app", writes, nil)
	c.Job("job", "app", nil)
	for n := 1; n <= 2; n++ {
		c.Via(n)
		c.Ready()
	}
	ctx, stop := context.WithCancel(t.Context())
	var traffic sync.WaitGroup
	var asked atomic.Int64
	for n := 1; n <= 2; n++ {
		for _, fresh := range []bool{false, true} {
			client := &http.Client{Timeout: system.Patience,
				Transport: &http.Transport{DisableKeepAlives: fresh, ForceAttemptHTTP2: !fresh,
					TLSClientConfig: &tls.Config{RootCAs: c.ca.Pool()}}}
			url := c.ServerURL(n)
			traffic.Go(func() {
				defer client.CloseIdleConnections()
				for i := 0; ctx.Err() == nil; i++ {
					method, path := "GET", "/api/job/jobs"
					if i%3 == 0 {
						method, path = "PUT", "/api/job/update"
					}
					body := strings.NewReader(fmt.Sprintf(`{"jobName":"job","description":"%s %t %d"}`, url, fresh, i))
					r, err := http.NewRequest(method, url+path, body)
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := client.Do(r)
					if err != nil {
						t.Errorf("%s at %s, fresh connections %t: %v", method, url, fresh, err)
						return
					}
					text, err := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					// Four clients change the same document concurrently, so that some get a conflict.
					if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusConflict {
						t.Errorf("%s at %s: %d %s %v", method, url, answer.StatusCode, text, err)
					}
					asked.Add(1)
				}
			})
		}
	}
	var last certificates.Pair
	for range 5 {
		for n := 1; n <= 2; n++ {
			last = c.ca.Issue(time.Now().Add(-time.Hour), time.Now().Add(12*time.Hour))
			last.Write(t, c.dir(n))
			c.awaitPresented(n, last)
		}
	}
	// If the key belongs to another certificate, the log and a warning say so, and the old certificate stays in use.
	c.Via(2)
	other := c.ca.Good()
	if err := os.WriteFile(c.dir(2)+"/key.pem", other.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Until("/healthz contains the warning", func() string {
		if text := c.OK("GET", "/healthz", ""); !strings.Contains(text, "stays in force") {
			return text
		}
		return ""
	})
	c.awaitPresented(2, last)
	if !strings.Contains(c.ServerLog(2), "TLS certificate not reloaded") ||
		strings.Contains(c.ServerLog(2), "PRIVATE KEY") {
		t.Errorf("the log says %s", c.ServerLog(2))
	}
	if c.Metric("elasticjob_tls_certificate_expiry_timestamp_seconds") == "" {
		t.Error("no metric")
	}
	other.Write(t, c.dir(2))
	c.awaitPresented(2, other)
	c.Until("the warning is gone", func() string {
		if text := c.OK("GET", "/healthz", ""); strings.Contains(text, "warning") {
			return text
		}
		return ""
	})
	stop()
	traffic.Wait()
	t.Logf("%d requests, 11 renewals", asked.Load())
}
