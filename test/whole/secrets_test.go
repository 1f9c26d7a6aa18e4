package whole_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const (
	// confidential is the prefix of all secrets in TestSecretsAppearNowhere.
	confidential = "hunter2-"
	// ofFile is the secret that is in a file and in no document.
	ofFile = confidential + "of-a-file"
)

// withSecrets returns a job with secrets in all forms. The job's script prints them.
func withSecrets(folder, hook string) system.Doc {
	return system.Doc{
		"description":            "see https://me:" + confidential + "description@h/x",
		"jobParameter":           "https://h/x?token=" + confidential + "parameter",
		"shardingItemParameters": "0=https://me:" + confidential + "item@h/x", "jobErrorHandlerType": "WEBHOOK",
		"env": system.Doc{
			"DB_PASSWORD": confidential + "named", "MARKED": system.Doc{"value": confidential + "marked",
				"secret": true}, "DB_URL": "mysql://me:" + confidential + "url@h/x",
			"FROM_FILE": system.Doc{"fromFile": filepath.Join(folder, "db")}, "LEVEL": "debug",
		},
		"props": system.Doc{
			"apiKey": confidential + "property", "marked": system.Doc{"value": confidential + "marked-property", "secret": true},
			"webhook.url": hook + "?key=" + confidential + "hook", "webhook.secret": confidential + "signature",
		},
	}
}

// TestSecretsAppearNowhere: no secret of a job or an app, in any form, appears in an answer, the log, the history,
// a notification or a cause, through failures, retries, kills, a daemon, triggers with parameters and a kill of the
// server. Secrets are only in the registry, in the agent's journal of tasks, and in the job's process; those from
// files are only in the process.
func TestSecretsAppearNowhere(t *testing.T) {
	m := start(t, "--log-level", "debug")
	folder := filepath.Join(m.Dir, "secrets")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "db"), []byte(ofFile+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooked := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hooked <- string(body)
	}))
	t.Cleanup(hook.Close)
	ask := func(status int, method, path, body string) string {
		t.Helper()
		a := m.Call(method, path, body)
		if a.Status != status && status != 0 {
			t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
		if strings.Contains(a.Body, confidential) {
			t.Errorf("%s %s answers %s", method, path, a.Body)
		}
		return a.Body
	}
	text := func(d system.Doc) string {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	m.Packages.Serve("/a.tar", system.Tar(m, "", only(`env >&2
echo "$*" >&2
[ -z "$HOLD" ] || sleep 600
[ -n "$FINE" ] || exit 3`)))
	app := system.Doc{"appName": "a", "appURL": m.Packages.URL("/a.tar") + "?token=" + confidential + "app",
		"bootstrapScript": "bin/start.sh https://me:" + confidential + "argument@h/x", "cpuCount": 0.01,
		"memoryMB": 32}
	ask(200, "POST", "/api/app", text(app))
	job := func(name string, more system.Doc) string {
		return m.JobText(name, "a", more)
	}
	fails := withSecrets(folder, hook.URL)
	fails["maxRetries"] = 1
	ask(200, "POST", "/api/job/register", job("fails", fails))
	daemon := withSecrets(folder, hook.URL)
	daemon["jobExecutionType"], daemon["cron"] = "DAEMON", "* * * * * ?"
	ask(200, "POST", "/api/job/register", job("tick", daemon))
	holds := withSecrets(folder, hook.URL)
	holds["env"].(system.Doc)["HOLD"] = "1"
	ask(200, "POST", "/api/job/register", job("holds", holds))
	missing := system.Doc{"env": system.Doc{"DB_PASSWORD": system.Doc{"fromFile": filepath.Join(folder, "none")}}}
	ask(200, "POST", "/api/job/register", job("misses", missing))
	wrong := withSecrets(folder, "https://me:"+confidential+"hook@h")
	wrong["env"].(system.Doc)["A-B"] = confidential + "bad"
	wrong["password"] = confidential + "unknown"
	wrong["props"].(system.Doc)["script.command.lime"] = confidential + "misspelt"
	wrong["shardingItemParameters"] = "7=https://me:" + confidential + "item@h/x"
	ask(422, "POST", "/api/job/register", job("wrong", wrong))

	// Sending back a document as it was read keeps its secrets; for another job they are unknown.
	shown := ask(200, "GET", "/api/job/jobs/fails", "")
	ask(200, "PUT", "/api/job/update", shown)
	ask(200, "PUT", "/api/app", ask(200, "GET", "/api/app/a", ""))
	ask(422, "POST", "/api/job/register", strings.Replace(shown, `"fails"`, `"copy"`, 1))

	var ids []string
	run := m.Run("fails", "FAILED")
	ids = append(ids, run.ExecutionID)
	if cause := run.Shards[0].FailureCause; run.Shards[0].Attempt != 2 || !strings.Contains(cause, "******") {
		t.Errorf("%+v", run)
	}
	out := m.Logs(run.Shards[0].TaskID, "stream=stderr")
	for _, secret := range []string{"named", "marked", "url", "of-a-file", "property", "marked-property", "argument",
		"parameter", "item"} {
		if !strings.Contains(out, confidential+secret) {
			t.Errorf("the process was not given %s: it had\n%s", secret, out)
		}
	}
	for _, secret := range []string{"signature", "hook", "app"} {
		if strings.Contains(out, confidential+secret) {
			t.Errorf("the process was given %s", secret)
		}
	}
	m.Until("the failure is notified", func() string {
		select {
		case notified := <-hooked:
			if strings.Contains(notified, confidential) || !strings.Contains(notified, "******") {
				t.Errorf("the notification is %s", notified)
			}
			return ""
		default:
			return "it is not"
		}
	})
	if run := m.Run("misses", "FAILED"); !strings.Contains(run.Shards[0].FailureCause,
		"env.DB_PASSWORD: file "+filepath.Join(folder, "none")+": there is no such file") {
		t.Errorf("%+v", run)
	}

	m.Update("fails", system.Doc{"misfire": true})
	own := `{"jobParameter":"https://me:` + confidential + `own@h","env":{"OWN_TOKEN":"` + confidential +
		`own","OTHER":{"value":"` + confidential + `own","secret":true},"MARKED":"` + confidential +
		`own","DB_PASSWORD":"******","HOLD":"1"}}`
	ask(422, "POST", "/api/job/fails/trigger", strings.Replace(own, "OTHER", "A-B", 1))
	ask(422, "POST", "/api/job/fails/trigger", `{"env":{"NEW_TOKEN":"******"}}`)
	trigger := func(job, body string) string {
		var said struct{ ExecutionID string }
		if err := json.Unmarshal([]byte(ask(200, "POST", "/api/job/"+job+"/trigger", body)), &said); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, said.ExecutionID)
		return said.ExecutionID
	}
	first, waits, holding := trigger("fails", own), trigger("fails", own), trigger("holds", "")
	held := m.AwaitShards(holding, "RUNNING").Shards[0].TaskID
	m.AwaitShards(first, "RUNNING")
	getAllRoutes := func() {
		t.Helper()
		for _, path := range routesToGet(t) {
			paths := []string{path}
			for variable, values := range map[string][]string{
				"{appName}": {"a"}, "{jobName}": {"fails", "tick", "holds", "misses"}, "{executionId}": ids,
				"{taskId}": {held}, "{period}": {"LAST24_HOURS"}, "{userName}": {"nobody"},
			} {
				var filled []string
				for _, p := range paths {
					if !strings.Contains(p, variable) {
						filled = append(filled, p)
						continue
					}
					for _, value := range values {
						filled = append(filled, strings.ReplaceAll(p, variable, value))
					}
				}
				paths = filled
			}
			for _, p := range paths {
				ask(0, "GET", p, "")
			}
		}
	}
	getAllRoutes()
	ask(200, "POST", "/api/task/"+held+"/kill", "")
	m.Await(holding, "KILLED")
	m.Kill()
	m.Start()
	getAllRoutes()
	ask(200, "POST", "/api/execution/"+first+"/kill", "")
	m.Await(first, "KILLED")
	m.AwaitShards(waits, "RUNNING")
	ask(200, "POST", "/api/job/fails/disable", "")
	m.Await(waits, "KILLED")
	m.Until("a run of the daemon has failed", func() string {
		if text := ask(200, "GET", "/api/job/tick/explain", ""); !strings.Contains(text, "******") {
			return text
		}
		return ""
	})
	ask(200, "GET", "/api/operate/sandbox?appName=a", "")
	getAllRoutes()
	ask(200, "DELETE", "/api/app/a?jobs=true", "")
	m.Stop()
	if log := m.Logged(); strings.Contains(log, confidential) {
		t.Errorf("the log has a secret: %s", log[strings.Index(log, confidential)-300:][:600])
	}
	checkFiles(t, m.Dir)
}

// routesToGet returns all GET routes, which docs/api.md lists. It leaves out those whose answer is a job's own output
// or a program, or does not end.
func routesToGet(t *testing.T) (paths []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("`GET (/[^`?]*)").FindAllStringSubmatch(string(text), -1) {
		if path := found[1]; !strings.HasSuffix(path, "/logs") && !strings.HasPrefix(path, "/artifacts/") &&
			path != "/api/events" {
			paths = append(paths, path)
		}
	}
	if len(paths) < 30 {
		t.Fatalf("docs/api.md has only %q", paths)
	}
	return paths
}

// checkFiles checks that secrets are only in those files of the data folder in which they may be.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	output := regexp.MustCompile(`/(tasks|runs/[^/]+/tasks)/\d+/std(out|err)`)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		inside := strings.TrimPrefix(path, dir+"/")
		switch {
		case output.MatchString(path), inside == "secrets/db": // the job's own output, and the file with the secret
		case bytes.Contains(data, []byte(ofFile)):
			t.Errorf("the secret of the file is in %s", inside)
		case inside == "registry.db", strings.HasPrefix(inside, "cluster/agent/"):
			// They contain documents, and tasks with their environment.
		case bytes.Contains(data, []byte(confidential)):
			t.Errorf("a secret is in %s", inside)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
