package local

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const tokenVariable = "MESOS_EXECUTOR_AUTHENTICATION_TOKEN"

// closedCluster asks for credentials, and its log is kept.
func closedCluster(t *testing.T, dir string, log io.Writer) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Options{DataDir: dir, CPUs: 4, MemoryMB: 1024,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// signed sends credentials with each request.
type signed struct {
	*http.Transport
	by *Credentials
}

func (s *signed) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.by != nil && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.SetBasicAuth(s.by.Principal, s.by.Secret)
	}
	return s.Transport.RoundTrip(r)
}

// client makes requests to a cluster, with credentials or (nil) without.
func (c *Cluster) client(t *testing.T, dir string, by *Credentials) *machine {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &machine{t: t, dir: dir, program: program, client: &http.Client{Transport: &signed{transport, by}},
		masterAt: netip.MustParseAddrPort(strings.TrimPrefix(c.MasterURL(), "http://"))}
}

func TestNobodyElseIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := closedCluster(t, dir, io.Discard)
	defer end(t, c)
	jsonOnly := map[string]string{"Content-Type": "application/json"}
	subscribe := `{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"root","name":"x","principal":"somebody"}}}`
	wrong := &Credentials{Principal: c.Credentials().Principal, Secret: "guessed"}
	for name, tt := range map[string]struct {
		by                *Credentials
		method, url, body string
		status            int
		challenge, says   string
	}{
		"subscribe without":                {nil, "POST", c.MasterURL() + "/api/v1/scheduler", subscribe, 401, `Basic realm="mesos-master-scheduler"`, "401 Unauthorized."},
		"subscribe with a wrong secret":    {wrong, "POST", c.MasterURL() + "/master/api/v1/scheduler", subscribe, 401, `Basic realm="mesos-master-scheduler"`, "401 Unauthorized."},
		"subscribe with another principal": {c.Credentials(), "POST", c.MasterURL() + "/api/v1/scheduler", subscribe, 400, "", "Failed to validate scheduler::Call: Authenticated principal 'elasticjob' does not match principal 'somebody' set in `FrameworkInfo`"},
		"browse without":                   {nil, "GET", c.AgentURL() + "/files/browse?path=/", "", 401, `Basic realm="mesos-agent-readonly"`, "401 Unauthorized."},
		"read without":                     {nil, "GET", c.AgentURL() + "/files/read?path=/", "", 401, `Basic realm="mesos-agent-readonly"`, "401 Unauthorized."},
		"download without":                 {nil, "GET", c.AgentURL() + "/files/download?path=/", "", 401, `Basic realm="mesos-agent-readonly"`, "401 Unauthorized."},
		"browse with":                      {c.Credentials(), "GET", c.AgentURL() + "/files/browse?path=/", "", 404, "", ""},
		"executor without a token":         {nil, "POST", c.AgentURL() + "/api/v1/executor", `{}`, 401, `Bearer realm="mesos-agent-executor"`, "401 Unauthorized."},
		"executor as a framework":          {c.Credentials(), "POST", c.AgentURL() + "/api/v1/executor", `{}`, 401, `Bearer realm="mesos-agent-executor", error="invalid_token", error_description="Scheme 'Basic' unsupported"`, "401 Unauthorized."},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.client(t, dir, tt.by)
			got := m.do(tt.method, tt.url, tt.body, jsonOnly)
			challenge, _ := field(got, "headers", "Www-Authenticate").(string)
			if got["status"] != tt.status || got["body"] != tt.says || challenge != tt.challenge {
				t.Errorf("answered %v", got)
			}
		})
	}
}

// TestNobodyElseTakesTheFrameworkOver: who has no credentials can't subscribe with our framework's id, nor call in its
// stream, though he knows both; our subscription stays as it is.
func TestNobodyElseTakesTheFrameworkOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := closedCluster(t, dir, io.Discard)
	defer end(t, c)
	f := c.client(t, dir, c.Credentials()).subscribed("framework", "")
	headers := map[string]string{"Content-Type": "application/json", "Mesos-Stream-Id": f.stream}
	for name, by := range map[string]*Credentials{
		"none":  nil,
		"wrong": {Principal: c.Credentials().Principal, Secret: "guessed"},
	} {
		stranger := c.client(t, dir, by)
		for _, call := range []string{
			`{"type":"SUBSCRIBE","framework_id":{"value":"` + f.id + `"},"subscribe":{"framework_info":{"user":"root","name":"framework","id":{"value":"` + f.id + `"}}}}`,
			`{"type":"TEARDOWN","framework_id":{"value":"` + f.id + `"}}`,
		} {
			if got := stranger.do("POST", c.MasterURL()+"/api/v1/scheduler", call, headers); got["status"] != http.StatusUnauthorized {
				t.Errorf("credentials: %s: %s\nis answered %v", name, call, got)
			}
		}
		if got := stranger.do("POST", c.MasterURL()+"/master/teardown", "frameworkId="+f.id, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}); got["status"] != http.StatusUnauthorized {
			t.Errorf("credentials: %s: teardown is answered %v", name, got)
		}
	}
	f.accepted("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "unknown"}}}})
	if got := f.events(1)[0]; field(got, "update", "status", "state") != "TASK_UNKNOWN" {
		t.Errorf("our own stream got %v", got)
	}
}

// record keeps what is written, for use by several goroutines.
type record struct {
	mu sync.Mutex
	bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

func (r *record) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.String()
}

func TestExecutorsAreKnownByTheirTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "cluster")
	var log record
	c := closedCluster(t, data, &log)
	m := c.client(t, dir, c.Credentials())
	f := m.subscribed("framework", "")
	f.launch(f.offer(large), m.customTask("t1", "ex1", "run", "run"))
	f.of("t1", 1)
	f.launch(f.offer(large), m.customTask("t2", "ex2", "run", "run"))
	f.of("t2", 1)
	tokenOf := func(executor string) string {
		t.Helper()
		token, _ := field(m.log(executor, "env", 1)["log"].([]any)[0], "env", tokenVariable).(string)
		if token == "" {
			t.Fatalf("%s got no token", executor)
		}
		return token
	}
	first, second := tokenOf("ex1"), tokenOf("ex2")

	call := func(executor, token string) object {
		t.Helper()
		return c.client(t, dir, nil).do("POST", c.AgentURL()+"/api/v1/executor",
			`{"type":"MESSAGE","framework_id":{"value":"`+f.id+`"},"executor_id":{"value":"`+executor+`"},"message":{"data":"aGk="}}`,
			map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + token})
	}
	if got := call("ex1", first); got["status"] != http.StatusAccepted {
		t.Errorf("with its own token: %v", got)
	}
	if got := call("ex1", second); got["status"] != http.StatusForbidden {
		t.Errorf("with another executor's token: %v", got)
	}
	if got := call("ex1", first+"x"); got["status"] != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %v", got)
	}

	// The token of one run of an executor is not the next one's.
	f.accepted("SHUTDOWN", object{"executor_id": object{"value": "ex2"}, "agent_id": field(f.offer(large), "agent_id")})
	m.log("ex2", "exit", 1)
	f.of("t2", 1)
	f.offers = nil
	f.accepted("REVIVE", nil)

	// A restart of the server takes no token away.
	f.cancel()
	end(t, c)
	before := *c.Credentials()
	c = closedCluster(t, data, &log)
	defer end(t, c)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := c.EndExecutors(ctx); err != nil {
			t.Error(err)
		}
	}()
	if *c.Credentials() != before {
		t.Error("the credentials have changed")
	}
	m.log("ex1", "resubscribed", 1)
	ready(t, c)
	if got := call("ex1", first); got["status"] != http.StatusAccepted {
		t.Errorf("with its own token after a restart: %v", got)
	}

	m = c.client(t, dir, c.Credentials())
	f = m.subscribed("framework", f.id)
	f.launch(f.offer(large), m.customTask("t3", "ex2", "run", "run"))
	f.of("t3", 1)
	if got := call("ex2", second); got["status"] != http.StatusForbidden {
		t.Errorf("with the token of an earlier container: %v", got)
	}
	leaksNothing(t, c, m, f, data, log.text(), first, second)
}

// leaksNothing looks for secrets where none may be: in the log, in command lines, in
// the environment of command tasks, in what is sent to frameworks, and in files for others.
func leaksNothing(t *testing.T, c *Cluster, m *machine, f *recorder, data, log string, tokens ...string) {
	t.Helper()
	secrets := append([]string{c.Credentials().Secret, c.secrets.ExecutorKey}, tokens...)
	clean := func(where, text string) {
		t.Helper()
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in %s", where)
			}
		}
	}
	clean("the log", log)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err == nil {
			clean(line, string(text))
		}
	}
	f.launch(f.offer(large), commandTask("env", "env >out"))
	said := inJSON(t, f.of("env", 3))
	outs, err := filepath.Glob(filepath.Join(data, "work", "slaves", "*", "frameworks", "*", "executors", "env", "runs", "*", "out"))
	if err != nil || len(outs) < 1 {
		t.Fatalf("no output of the command task: %v %v", outs, err)
	}
	env, err := os.ReadFile(outs[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), tokenVariable) || !strings.Contains(string(env), "MESOS_SANDBOX") {
		t.Errorf("environment of a command task:\n%s", env)
	}
	clean("an update", said+inJSON(t, f.waiting)+inJSON(t, f.offers))
	err = filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entry.Type().IsRegular() {
			return nil // what goes while we look
		}
		text, err := os.ReadFile(path)
		info, gone := entry.Info()
		if err != nil || gone != nil || filepath.Base(path) == "secrets.json" && info.Mode().Perm() == 0o600 {
			return nil
		}
		clean(path, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecretsThatOthersMayReadAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets.json")
	made, err := openSecrets(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := openSecrets(path)
	if err != nil || *again != *made {
		t.Errorf("read %v, %v", err, again)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := openSecrets(path); err == nil || !strings.Contains(err.Error(), "0640") || strings.Contains(err.Error(), made.Secret) {
		t.Errorf("a file that others may read: %v", err)
	}
	half, err := json.Marshal(secrets{Principal: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, half, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSecrets(path); err == nil {
		t.Error("a file without secrets is taken")
	}
}
