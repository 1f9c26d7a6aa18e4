package local

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/buffer"
)

const tokenVariable = "MESOS_EXECUTOR_AUTHENTICATION_TOKEN"

// closedCluster starts a cluster that requires credentials, and writes its log to log.
func closedCluster(t *testing.T, dir string, log io.Writer) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Options{DataDir: dir, CPUs: 4, MemoryMB: 1024,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is the answer to a request.
type answer struct {
	status          int
	challenge, body string
}

// ask sends a request to a cluster, with credentials or, if they are nil, without.
func ask(t *testing.T, by *Credentials, method, url, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if request.Header.Get("Authorization") == "" {
		sign(request, by)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header.Get("WWW-Authenticate"), string(text)}
}

func TestClientsWithoutCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := closedCluster(t, dir, io.Discard)
	defer end(t, c)
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
		"read without":                     {nil, "GET", c.AgentURL() + "/files/read?path=/", "", 401, `Basic realm="mesos-agent-readonly"`, "401 Unauthorized."},
		"read with":                        {c.Credentials(), "GET", c.AgentURL() + "/files/read?path=/", "", 404, "", ""},
		"executor without a token":         {nil, "POST", c.AgentURL() + "/api/v1/executor", `{}`, 401, `Bearer realm="mesos-agent-executor"`, "401 Unauthorized."},
		"executor as a framework":          {c.Credentials(), "POST", c.AgentURL() + "/api/v1/executor", `{}`, 401, `Bearer realm="mesos-agent-executor"`, "401 Unauthorized."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, tt.by, tt.method, tt.url, tt.body); got != (answer{tt.status, tt.challenge, tt.says}) {
				t.Errorf("answered %+v", got)
			}
		})
	}
}

// TestClientsWithoutCredentialsCannotSubscribe: a client without credentials can neither subscribe with the
// framework's id nor send calls in its stream, even if it knows both. The existing subscription continues.
func TestClientsWithoutCredentialsCannotSubscribe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := closedCluster(t, dir, io.Discard)
	defer end(t, c)
	f := subscribeAs(t, c.MasterURL(), c.Credentials())
	f.next("SUBSCRIBED")
	for name, by := range map[string]*Credentials{
		"none":  nil,
		"wrong": {Principal: c.Credentials().Principal, Secret: "guessed"},
	} {
		for path, call := range map[string]string{
			"/api/v1/scheduler":        `{"type":"SUBSCRIBE","framework_id":{"value":"smoke"},"subscribe":{"framework_info":{"user":"root","name":"framework","id":{"value":"smoke"}}}}`,
			"/master/api/v1/scheduler": `{"type":"TEARDOWN","framework_id":{"value":"smoke"}}`,
			"/master/api/v1":           `{"type":"TEARDOWN","teardown":{"framework_id":{"value":"smoke"}}}`,
		} {
			if got := ask(t, by, "POST", c.MasterURL()+path, call, "Mesos-Stream-Id",
				f.stream); got.status != http.StatusUnauthorized {
				t.Errorf("with credentials %s: %s\nis answered %+v", name, call, got)
			}
		}
	}
	f.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "unknown"}}}})
	if got := f.next("UPDATE"); got["update"].(object)["status"].(object)["state"] != "TASK_UNKNOWN" {
		t.Errorf("the existing stream got %v", got)
	}
}

func TestExecutorsAreKnownByTheirTokens(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var log buffer.Locked
	c := closedCluster(t, data, &log)
	f := subscribeAs(t, c.MasterURL(), c.Credentials())
	var updates []object
	// start launches tasks, each on its own executor, and returns the executors' tokens.
	start := func(executorOf map[string]string) (tokens []string) {
		t.Helper()
		var tasks []object
		for _, id := range slices.Sorted(maps.Keys(executorOf)) {
			task := custom(t, id, "run")
			task["executor"].(object)["executor_id"] = object{"value": executorOf[id]}
			tasks = append(tasks, task)
		}
		f.launch(tasks...)
		running := map[string]object{}
		for len(running) < len(tasks) {
			status := f.next("UPDATE")["update"].(object)["status"].(object)
			if _, ours := executorOf[status["task_id"].(object)["value"].(string)]; ours &&
				status["state"] == "TASK_RUNNING" {
				running[status["task_id"].(object)["value"].(string)] = status
			}
		}
		for _, task := range tasks {
			status := running[task["task_id"].(object)["value"].(string)]
			f.call("ACKNOWLEDGE", object{"agent_id": status["agent_id"], "task_id": status["task_id"],
				"uuid": status["uuid"]})
			updates = append(updates, status)
			environment, err := os.ReadFile(fmt.Sprintf("/proc/%v/environ",
				status["container_status"].(object)["executor_pid"]))
			if err != nil {
				t.Fatal(err)
			}
			for variable := range strings.SplitSeq(string(environment), "\x00") {
				if token, is := strings.CutPrefix(variable, tokenVariable+"="); is {
					tokens = append(tokens, token)
				}
			}
		}
		if len(tokens) != len(tasks) {
			t.Fatalf("%d executors got %d tokens", len(tasks), len(tokens))
		}
		return tokens
	}
	tokens := start(map[string]string{"t1": "ex1", "t2": "ex2"})
	first, second := tokens[0], tokens[1]

	call := func(executor, token string) int {
		t.Helper()
		return ask(t, nil, "POST", c.AgentURL()+"/api/v1/executor",
			`{"type":"UPDATE","framework_id":{"value":"smoke"},"executor_id":{"value":"`+executor+
				`"},"update":{"status":{"task_id":{"value":"none"},"state":"TASK_RUNNING","source":"SOURCE_EXECUTOR","uuid":"S/2kP72VQ56q2vuyRd4dTw=="}}}`,
			"Authorization", "Bearer "+token).status
	}
	for _, tt := range []struct {
		what, token string
		want        int
	}{{"its own", first, 202}, {"another executor's", second, 403}, {"a wrong", first + "x", 401}} {
		if got := call("ex1", tt.token); got != tt.want {
			t.Errorf("with %s token: %d, want %d", tt.what, got, tt.want)
		}
	}

	// The token of one run of an executor is not valid for the next run.
	f.call("SHUTDOWN", object{"executor_id": object{"value": "ex2"}, "agent_id": updates[0]["agent_id"]})
	f.update("t2", "TASK_FAILED")
	// When the agent gets the acknowledgement, it frees the executor's id and removes its journal.
	for end := time.Now().Add(deadline); ; <-time.After(time.Millisecond) {
		journals, err := os.ReadDir(filepath.Join(data, "agent", "executors"))
		if err != nil || time.Now().After(end) {
			t.Fatalf("journals %v, %v: want one", journals, err)
		}
		if len(journals) == 1 {
			break
		}
	}

	// Tokens remain valid over a restart of the server.
	end(t, c)
	before := *c.Credentials()
	c = closedCluster(t, data, &log)
	defer endAll(t, c)
	if *c.Credentials() != before {
		t.Error("the credentials have changed")
	}
	awaitReady(t, c)
	if got := call("ex1", first); got != http.StatusAccepted {
		t.Errorf("with its own token after a restart: %d", got)
	}
	f = subscribeAs(t, c.MasterURL(), c.Credentials())
	third := start(map[string]string{"t3": "ex2"})[0]
	if got := call("ex2", second); got != http.StatusForbidden {
		t.Errorf("with the token of an earlier container: %d", got)
	}

	// No secret is in the log, in command lines, in data for frameworks, or in files that others can read.
	checkNoSecret := func(where, text string) {
		t.Helper()
		for _, secret := range []string{c.Credentials().Secret, c.secrets.ExecutorKey, first, second, third} {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in %s", where)
			}
		}
	}
	checkNoSecret("the log", log.String())
	checkNoSecret("an update", fmt.Sprint(updates))
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil {
			checkNoSecret(line, string(text))
		}
	}
	err = filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entry.Type().IsRegular() {
			return nil // an entry may disappear during the walk
		}
		text, err := os.ReadFile(path)
		info, gone := entry.Info()
		if err != nil || gone != nil || filepath.Base(path) == "secrets.json" && info.Mode().Perm() == 0o600 {
			return nil
		}
		checkNoSecret(path, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExecutorsOfAnOlderRelease: executors that speak plain HTTP with their agent continue after a restart, beside
// those that verify its certificate.
func TestExecutorsOfAnOlderRelease(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := closedCluster(t, data, io.Discard)
	f := subscribeAs(t, c.MasterURL(), c.Credentials())
	older := custom(t, "older", "run")
	executor := older["executor"].(object)
	executor["executor_id"] = object{"value": "older"}
	executor["command"].(object)["environment"] = object{
		"variables": []any{object{"name": actAsExecutor, "value": olderRelease}},
	}
	f.launch(older, custom(t, "newer", "run"))
	for running := map[any]bool{}; len(running) < 2; {
		status := f.next("UPDATE")["update"].(object)["status"].(object)
		if status["state"] != "TASK_RUNNING" {
			t.Fatalf("%v", status)
		}
		task := status["task_id"]
		f.call("ACKNOWLEDGE", object{"agent_id": status["agent_id"], "task_id": task, "uuid": status["uuid"]})
		running[task.(object)["value"]] = true
	}
	end(t, c)

	c = closedCluster(t, data, io.Discard)
	defer endAll(t, c)
	f = subscribeAs(t, c.MasterURL(), c.Credentials())
	f.next("SUBSCRIBED")
	awaitReady(t, c)
	for _, task := range []string{"older", "newer"} {
		f.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": task}}}})
		f.update(task, "TASK_RUNNING")
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
	if _, err := openSecrets(path); err == nil || !strings.Contains(err.Error(), "0640") ||
		strings.Contains(err.Error(), made.Secret) {
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
		t.Error("a file without secrets is accepted")
	}
}
