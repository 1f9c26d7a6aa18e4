package identity_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/cluster/local/identity"
	"github.com/elasticjob-go/elasticjob/executor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "the executor's token"

// made returns the identity of an agent at an address.
func made(t *testing.T, secret, ip string) *identity.Identity {
	t.Helper()
	i, err := identity.New([]byte(secret), net.ParseIP(ip))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// agent is a server at 127.0.0.1 with an identity.
type agent struct {
	address string
	mu      sync.Mutex
	heard   []string
}

func serve(t *testing.T, i *identity.Identity) *agent {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{address: l.Addr().String()}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.heard = append(a.heard, r.Header.Get("Authorization"))
		a.mu.Unlock()
		_, _ = io.Copy(w, r.Body)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(i.Listener(l))
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close()
		}
		<-served
	})
	return a
}

// call sends a request like an executor that was started with this authority, or with none if it is empty.
func call(t *testing.T, authority, address string) error {
	t.Helper()
	given := map[string]string{
		"MESOS_AGENT_ENDPOINT": address, "MESOS_SANDBOX": "/sandbox",
		"MESOS_FRAMEWORK_ID": "F", "MESOS_EXECUTOR_ID": "E",
	}
	if authority != "" {
		given["LIBPROCESS_SSL_ENABLED"], given["ELASTICJOB_MESOS_CA"] = "true", authority
	}
	config, err := executor.FromEnvironment(func(name string) string { return given[name] })
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config.TLS}
	defer transport.CloseIdleConnections()
	body := strings.Repeat("a large call ", 100_000)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.Agent, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", token)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if said, err := io.ReadAll(answer.Body); err != nil || string(said) != body {
		t.Errorf("%d bytes are answered with %d, %v", len(body), len(said), err)
	}
	return nil
}

// TestExecutorsTrustOnlyTheirAgent: executors trust only a server that has the agent's secret, before and after a
// restart, and send nothing to any other.
func TestExecutorsTrustOnlyTheirAgent(t *testing.T) {
	t.Parallel()
	authority := made(t, "secret", "127.0.0.1").Authority()
	for name, c := range map[string]struct {
		authority string // of the executor
		agent     *identity.Identity
		wrong     string
	}{
		"the agent after a restart":        {authority, made(t, "secret", "127.0.0.1"), ""},
		"one with another secret":          {authority, made(t, "secrets", "127.0.0.1"), "unknown authority"},
		"one for another address":          {authority, made(t, "secret", "127.0.0.2"), "is neither for"},
		"an executor without an authority": {"", made(t, "secret", "127.0.0.1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, c.agent)
			err := call(t, c.authority, a.address)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if heard := strings.Join(a.heard, ", "); (heard == token) != (c.wrong == "") {
				t.Errorf("it heard %q", heard)
			}
		})
	}
}

// TestASilentClientDoesNotBlockOthers: a client that connects and sends nothing does not block others.
func TestASilentClientDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	i := made(t, "secret", "127.0.0.1")
	a := serve(t, i)
	silent, err := net.Dial("tcp4", a.address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, authority := range []string{i.Authority(), ""} {
		if err := call(t, authority, a.address); err != nil {
			t.Error(err)
		}
	}
}

// TestARelayLearnsNothing: a relay between the agent and its executor can forward their data but cannot read it.
func TestARelayLearnsNothing(t *testing.T) {
	t.Parallel()
	i := made(t, "secret", "127.0.0.1")
	a := serve(t, i)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var relayed bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		executor, err := l.Accept()
		if err != nil {
			return
		}
		defer executor.Close()
		agent, err := net.Dial("tcp4", a.address)
		if err != nil {
			t.Error(err)
			return
		}
		var back sync.WaitGroup
		back.Go(func() { _, _ = io.Copy(executor, agent) })
		_, _ = io.Copy(agent, io.TeeReader(executor, &relayed))
		_ = agent.Close()
		back.Wait()
	}()
	if err := call(t, i.Authority(), l.Addr().String()); err != nil {
		t.Error(err)
	}
	<-done
	if relayed.Len() < 1_000_000 || bytes.Contains(relayed.Bytes(), []byte(token)) {
		t.Errorf("of %d bytes it can read the token", relayed.Len())
	}
}
