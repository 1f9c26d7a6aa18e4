package local

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"go.uber.org/goleak"
)

const (
	deadline = 20 * time.Second
	// actAsExecutor in the environment turns the test binary into a small executor.
	actAsExecutor = "LOCAL_TEST_EXECUTOR"
	// olderRelease is its value for an executor that speaks plain HTTP.
	olderRelease = "older"
)

func TestMain(m *testing.M) {
	if os.Getenv(actAsExecutor) != "" {
		os.Exit(runExecutor())
	}
	goleak.VerifyTestMain(m)
}

type object = map[string]any

func begin(t *testing.T, dir string) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Options{DataDir: dir, CPUs: 4, MemoryMB: 1024, NoCredentials: true,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func end(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// subscriber is a framework that speaks plain HTTP and JSON.
type subscriber struct {
	credentials *Credentials // nil for none
	t           *testing.T
	url         string
	stream      string
	frames      chan object
	unread      []object // frames that next returns first
	client      *http.Client
}

func subscribe(t *testing.T, url string) *subscriber {
	t.Helper()
	return subscribeAs(t, url, nil)
}

func subscribeAs(t *testing.T, url string, credentials *Credentials) *subscriber {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{}
	s := &subscriber{credentials: credentials, t: t, url: url + "/api/v1/scheduler", client: &http.Client{Transport: transport},
		frames: make(chan object, 100)}
	body := `{"type":"SUBSCRIBE","framework_id":{"value":"smoke"},"subscribe":{"framework_info":{"user":"root","name":"smoke","id":{"value":"smoke"},"failover_timeout":3600,"checkpoint":true,"capabilities":[{"type":"PARTITION_AWARE"}]}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	sign(request, credentials)
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("SUBSCRIBE: %d", response.StatusCode)
	}
	s.stream = response.Header.Get("Mesos-Stream-Id")
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		frames := recordio.NewReader(response.Body)
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				return
			}
			var event object
			if err := json.Unmarshal(frame, &event); err != nil {
				t.Error(err)
				return
			}
			s.frames <- event
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-reading
		response.Body.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// sign adds credentials to a request.
func sign(r *http.Request, credentials *Credentials) {
	if credentials != nil {
		r.SetBasicAuth(credentials.Principal, credentials.Secret)
	}
}

func (s *subscriber) call(kind string, body any) {
	s.t.Helper()
	encoded, err := json.Marshal(object{"type": kind, "framework_id": object{"value": "smoke"},
		strings.ToLower(kind): body})
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(encoded))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Mesos-Stream-Id", s.stream)
	sign(request, s.credentials)
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		text, _ := io.ReadAll(response.Body)
		s.t.Fatalf("%s: %d %s", kind, response.StatusCode, text)
	}
}

// next returns the next event of this type.
func (s *subscriber) next(kind string) object {
	s.t.Helper()
	timeout := time.After(deadline)
	for {
		for len(s.unread) > 0 {
			event := s.unread[0]
			if s.unread = s.unread[1:]; event["type"] == kind {
				return event
			}
		}
		select {
		case event := <-s.frames:
			if event["type"] == kind {
				return event
			}
		case <-timeout:
			s.t.Fatalf("no %s within %v", kind, deadline)
		}
	}
}

// update waits for the task's update with this state, and acknowledges all updates up to it.
func (s *subscriber) update(task, state string) object {
	s.t.Helper()
	for {
		status := s.nextUpdate(task)
		if status["state"] == state {
			return status
		}
		if status["state"] != "TASK_RUNNING" && status["state"] != "TASK_STARTING" {
			s.t.Fatalf("task %s: %v, expected %s", task, status, state)
		}
	}
}

// nextUpdate returns the next update about a task. It acknowledges all updates up to that one.
func (s *subscriber) nextUpdate(task string) object {
	s.t.Helper()
	for {
		status := s.next("UPDATE")["update"].(object)["status"].(object)
		if status["uuid"] != nil {
			s.call("ACKNOWLEDGE", object{"agent_id": status["agent_id"], "task_id": status["task_id"],
				"uuid": status["uuid"]})
		}
		if status["task_id"].(object)["value"] == task {
			return status
		}
	}
}

func (s *subscriber) launch(tasks ...object) {
	s.t.Helper()
	offer := s.next("OFFERS")["offers"].(object)["offers"].([]any)[0].(object)
	for _, task := range tasks {
		task["agent_id"] = offer["agent_id"]
	}
	s.call("ACCEPT", object{
		"offer_ids": []any{offer["id"]}, "filters": object{"refuse_seconds": 0},
		"operations": []any{object{"type": "LAUNCH", "launch": object{"task_infos": tasks}}},
	})
}

func amounts(cpus, mem float64) []any {
	return []any{
		object{"name": "cpus", "type": "SCALAR", "scalar": object{"value": cpus}},
		object{"name": "mem", "type": "SCALAR", "scalar": object{"value": mem}},
	}
}

// custom returns a task with an executor that does what the task's data says.
func custom(t *testing.T, id, data string) object {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return object{
		"name": id, "task_id": object{"value": id}, "resources": amounts(0.1, 32),
		"data": base64.StdEncoding.EncodeToString([]byte(data)),
		"executor": object{
			"type": "CUSTOM", "executor_id": object{"value": "ex"}, "framework_id": object{"value": "smoke"},
			"resources": amounts(0.1, 32),
			"command": object{
				"shell": false, "value": self, "arguments": []any{self},
				"environment": object{"variables": []any{object{"name": actAsExecutor, "value": "1"}}},
			},
		},
	}
}

func TestExecutorOutlivesTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := begin(t, dir)
	s := subscribe(t, c.MasterURL())
	s.next("SUBSCRIBED")
	s.launch(custom(t, "one", "finish"), custom(t, "two", "run"))
	s.update("two", "TASK_RUNNING")
	agentURL := c.AgentURL()
	end(t, c)

	c = begin(t, dir)
	defer end(t, c)
	if c.AgentURL() != agentURL {
		t.Errorf("agent moved from %s to %s", agentURL, c.AgentURL())
	}
	s = subscribe(t, c.MasterURL())
	s.next("SUBSCRIBED")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	s.launch(custom(t, "three", "finish"))
	s.update("three", "TASK_FINISHED")
	s.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "two"}}}})
	s.update("two", "TASK_RUNNING")
	if err := c.EndExecutors(ctx); err != nil {
		t.Fatal(err)
	}
	s.next("FAILURE")
	s.update("two", "TASK_FAILED")
}

// A message passes all the way from an executor to its framework.
func TestMessage(t *testing.T) {
	t.Parallel()
	c := begin(t, t.TempDir())
	defer end(t, c)
	s := subscribe(t, c.MasterURL())
	s.next("SUBSCRIBED")
	s.launch(custom(t, "one", "say"))
	message := s.next("MESSAGE")["message"].(object)
	if message["executor_id"].(object)["value"] != "ex" || message["agent_id"].(object)["value"] == "" ||
		message["data"] != "b25l" {
		t.Errorf("the message is %v", message)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := c.EndExecutors(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestOneClusterPerFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := begin(t, dir)
	defer end(t, c)
	_, err := Start(t.Context(), Options{DataDir: dir, CPUs: 1, MemoryMB: 64, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("error %v", err)
	}
}

// TestMasterWaitsForItsPort: if the master's port is in use for a moment, the master waits for it. The port may be that
// of the last run, or Options.Listen.
func TestMasterWaitsForItsPort(t *testing.T) {
	t.Parallel()
	for name, chosen := range map[string]bool{"kept": false, "chosen": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{DataDir: t.TempDir(), Agents: -1, NoCredentials: true,
				Logger: slog.New(slog.DiscardHandler)}
			c, err := Start(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			before := c.address
			end(t, c)
			if chosen {
				opts.Listen = before.String()
			}
			holder, err := retryInUse(func() (net.Listener, error) { return bind(loopback, int(before.Port())) })
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(portTimeout/10, func() { _ = holder.Close() })
			if c, err = Start(t.Context(), opts); err != nil {
				t.Fatal(err)
			}
			defer end(t, c)
			if c.address != before {
				t.Errorf("the master moved from %s to %s", before, c.address)
			}
		})
	}
}

func TestTakenAgentPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	end(t, begin(t, dir))
	kept, err := readPorts(dir + "/ports.json")
	if err != nil || len(kept.Agents) != 1 || kept.Agents[0] < lowestPort || kept.Agents[0] > highestPort {
		t.Fatalf("ports %+v, %v", kept, err)
	}
	squatter, err := retryInUse(func() (net.Listener, error) { return bind(loopback, kept.Agents[0]) })
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	opts := Options{DataDir: dir, CPUs: 1, MemoryMB: 64, Logger: slog.New(slog.DiscardHandler)}
	_, err = Start(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("taken by pid %d (", os.Getpid())) {
		t.Errorf("error %v", err)
	}
	opts.GiveUpExecutors = true
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, c)
	if strings.HasSuffix(c.AgentURL(), fmt.Sprint(":", kept.Agents[0])) {
		t.Error("the port is shared")
	}
}
