package lease_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	api "github.com/elasticjob-go/elasticjob/api/lease"
	"github.com/elasticjob-go/elasticjob/internal/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServe checks the answers of the port for leases, and that it ends with its context.
func TestServe(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- api.Serve(ctx, l, func(_ context.Context, m lease.Message) (lease.Message, error) {
			switch string(m.Body) {
			case "forged":
				return lease.Message{}, lease.ErrSignature
			case "standby":
				return lease.Message{}, errors.New("this server does not lead")
			}
			return lease.Message{Body: append([]byte("to "), m.Body...), Signature: m.Signature + "2"}, nil
		})
	}()
	transport := &http.Transport{}
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"a request":                  {"POST", lease.Path, "ask", 200, "to ask"},
		"of somebody else":           {"POST", lease.Path, "forged", 403, "signature"},
		"to a standby":               {"POST", lease.Path, "standby", 503, "does not lead"},
		"too large":                  {"POST", lease.Path, strings.Repeat("x", lease.MaxBody+1), 400, "too large"},
		"another method":             {"GET", lease.Path, "", 405, ""},
		"the API is not served here": {"GET", "/api/app", "", 404, ""},
	} {
		q, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+l.Addr().String()+test.path,
			strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(lease.SignatureHeader, "1")
		resp, err := client.Do(q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(body), test.want) {
			t.Errorf("%s: %s %q", name, resp.Status, body)
		}
		if signature := resp.Header.Get(lease.SignatureHeader); (signature == "12") != (test.status == 200) {
			t.Errorf("%s: signature %q", name, signature)
		}
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
