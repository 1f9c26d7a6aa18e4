package whole_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// impostor listens on the port of a former agent. It records the tokens of executors that mistake it for their agent,
// kills their task, and launches a task that prints a secret.
type impostor struct {
	net.Listener
	killed string    // the task that it kills
	stolen wire.Task // the task that it launches

	mu     sync.Mutex
	dialed int      // the number of connections
	tokens []string // the credentials in all calls
}

// Accept counts the connections.
func (i *impostor) Accept() (net.Conn, error) {
	conn, err := i.Listener.Accept()
	if err == nil {
		i.mu.Lock()
		i.dialed++
		i.mu.Unlock()
	}
	return conn, err
}

// ServeHTTP implements an agent.
func (i *impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.tokens = append(i.tokens, r.Header.Get("Authorization"))
	i.mu.Unlock()
	var call mesosexec.Call
	body, err := io.ReadAll(r.Body)
	if err != nil || call.Unmarshal(body) != nil || call.Type != mesosexec.Call_SUBSCRIBE {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	data, err := i.stolen.Encode()
	if err != nil {
		panic(err)
	}
	stolen := mesos.TaskInfo{TaskID: mesos.TaskID{Value: i.stolen.TaskID}, Data: data}
	for _, e := range []mesosexec.Event{
		{Type: mesosexec.Event_SUBSCRIBED, Subscribed: &mesosexec.Event_Subscribed{}},
		{Type: mesosexec.Event_LAUNCH, Launch: &mesosexec.Event_Launch{Task: stolen}},
		{Type: mesosexec.Event_KILL, Kill: &mesosexec.Event_Kill{TaskID: mesos.TaskID{Value: i.killed}}},
	} {
		frame, err := e.Marshal()
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Fprintf(w, "%d\n%s", len(frame), frame)
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// TestExecutorsKnowTheirAgent: while the server is down, another process listens on the port of its agent. Running
// executors send it no token and obey none of its calls, over plain HTTP or TLS, and continue with the server when it
// is back.
func TestExecutorsKnowTheirAgent(t *testing.T) {
	m := start(t)
	key := filepath.Join(m.Dir, "secrets", "apps", "a", "key")
	err := errors.Join(os.MkdirAll(filepath.Dir(key), 0o700), os.WriteFile(key, []byte("hush"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	hold, release := m.Hold()
	m.App("a", writes, nil)
	m.Job("j", "a", system.Doc{"env": env("HOLD", hold)})
	id := m.Trigger("j")
	m.AwaitStarts(id, 1)
	task := m.AwaitShards(id, "RUNNING").Shards[0].TaskID
	m.Kill()

	stolen := filepath.Join(t.TempDir(), "stolen")
	known := httptest.NewTLSServer(nil) // its certificate is valid for 127.0.0.1
	known.Close()
	for name, secure := range map[string]*tls.Config{
		"plain HTTP": nil,
		"TLS":        {Certificates: known.TLS.Certificates},
	} {
		i := &impostor{Listener: listenAsAgent(t, m), killed: task, stolen: wire.Task{
			TaskID: "stolen-by-" + strings.Fields(name)[0], JobName: "j", AppName: "a", Total: 1, Attempt: 1,
			Command: []string{"/bin/sh", "-c", `echo "$KEY" >` + stolen}, EnvFiles: map[string]string{"KEY": key},
		}}
		server := &http.Server{Handler: i, ErrorLog: log.New(io.Discard, "", 0)}
		listener := net.Listener(i)
		if secure != nil {
			listener = tls.NewListener(i, secure)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(listener)
		}()
		m.Until("the executor has tried three times to reach its agent", func() string {
			i.mu.Lock()
			defer i.mu.Unlock()
			if _, err := os.Stat(stolen); i.dialed < 3 && err != nil {
				return fmt.Sprint(i.dialed, " connections")
			}
			return ""
		})
		_ = server.Close()
		<-served
		i.mu.Lock()
		if len(i.tokens) > 0 {
			t.Errorf("over %s the impostor received the credentials %q", name, i.tokens)
		}
		i.mu.Unlock()
	}
	if text, err := os.ReadFile(stolen); err == nil {
		t.Errorf("the impostor's task ran, and was given %q", text)
	}

	m.Start()
	m.AwaitShards(id, "RUNNING")
	release()
	if e := m.Await(id, "FINISHED"); e.Shards[0].TaskID != task {
		t.Errorf("task %s did not continue: %+v", task, e)
	}
	m.Stop()
	m.OnceEach()
}

// listenAsAgent listens on the port of a killed server's agent.
func listenAsAgent(t *testing.T, m *system.Machine) net.Listener {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, "cluster", "ports.json"))
	var ports struct{ Agents []int }
	if err == nil {
		err = json.Unmarshal(text, &ports)
	}
	if err != nil {
		t.Fatal(err)
	}
	var listener net.Listener
	m.Until("the agent's port is free", func() string {
		if listener, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", ports.Agents[0])); err != nil {
			return err.Error()
		}
		return ""
	})
	return listener
}
