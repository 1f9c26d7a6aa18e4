package whole_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// The quick start of ElasticJob-Cloud, unchanged except for the port of the package server.
const (
	quickApp = `{"appName":"my_app","appURL":"http://127.0.0.1:8080/my-job.tar.gz","cpuCount":0.1,"memoryMB":64.0,"bootstrapScript":"bin/start.sh","appCacheEnable":true,"eventTraceSamplingCount":0}`
	quickJob = `{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","cron":"0/5 * * * * * ?","shardingTotalCount":3,"cpuCount":0.1,"memoryMB":64.0}`
	asJSON   = "Content-type: application/json"
)

// quickStart registers the app and the job of the quick start. The package is like the output of
// `tar -cvf my-job.tar.gz my-job`: an uncompressed tar with a top folder.
func quickStart(m *system.Machine, files system.Files) {
	m.Helper()
	m.Packages.Serve("/my-job.tar.gz", system.Tar(m, "my-job", files))
	m.OK("POST", "/api/app", strings.Replace(quickApp, "127.0.0.1:8080", m.Packages.Host(), 1), asJSON)
	m.OK("POST", "/api/job/register", quickJob, asJSON)
}

// trigger sends a trigger in any form, and returns the id of the execution.
func trigger(m *system.Machine, path, body string, headers ...string) string {
	m.Helper()
	var said struct{ ExecutionID string }
	if err := json.Unmarshal([]byte(m.OK("POST", path, body, headers...)), &said); err != nil {
		m.Fatal(err)
	}
	return said.ExecutionID
}

func TestQuickStart(t *testing.T) {
	m := start(t)
	quickStart(m, only(`echo "shard $ELASTICJOB_SHARDING_ITEM of $ELASTICJOB_SHARDING_TOTAL_COUNT"`))

	// The trigger of the quick start, with the job's name unquoted and quoted.
	for _, name := range []string{`my_job`, `"my_job"`} {
		e := m.Await(trigger(m, "/api/job/trigger", name, asJSON), "FINISHED")
		if len(e.Shards) != 3 || e.Source != "TRIGGER" || e.JobName != "my_job" {
			t.Errorf("trigger %s: %+v", name, e)
		}
		for i, s := range e.Shards {
			if got, want := m.Logs(s.TaskID, ""), fmt.Sprintf("shard %d of 3\n", i); got != want || s.Item != i {
				t.Errorf("shard %d wrote %q, want %q", s.Item, got, want)
			}
		}
	}

	// The cron with its seven fields fires every 5 seconds.
	x := m.Explain("my_job")
	if len(x.NextFires) != 5 {
		t.Fatalf("next fires: %v", x.NextFires)
	}
	for i, at := range x.NextFires {
		if at.Second()%5 != 0 || at.Nanosecond() != 0 || i > 0 && at.Sub(x.NextFires[i-1]) != 5*time.Second {
			t.Errorf("next fires %v: want multiples of 5 s", x.NextFires)
		}
	}
	m.Until("the cron has fired twice", func() string {
		if n := m.Metric("elasticjob_fires_total"); n != "0" && n != "1" {
			return ""
		}
		return "it has not"
	})
	m.Stop()
}

// TestCronFiresOnTheSecond checks the fire times that the processes received, not the planned ones (rules F1, F9).
func TestCronFiresOnTheSecond(t *testing.T) {
	m := start(t)
	quickStart(m, writes)
	m.Update("my_job", system.Doc{"env": env("LEDGER", m.LedgerPath)})
	fires := map[string]string{}
	m.Until("three fires have run", func() string {
		for _, line := range m.Ledger() {
			fires[line.FireTime] = line.Execution
		}
		if len(fires) < 3 {
			return fmt.Sprint(fires)
		}
		return ""
	})
	for at, id := range fires {
		e := m.Await(id, "FINISHED")
		if at != e.FireTime.Format("2006-01-02T15:04:05.000Z") || e.FireTime.Second()%5 != 0 ||
			e.FireTime.Nanosecond() != 0 || e.Source != "NORMAL_TRIGGER" || len(e.Shards) != 3 {
			t.Errorf("fire at %v: %+v", at, e)
		}
		for _, s := range e.Shards {
			if s.StartTime.Before(e.FireTime) {
				t.Errorf("shard %d of the fire at %v began at %v", s.Item, at, s.StartTime)
			}
		}
	}
	m.Stop()
	m.OnceEach()
}

// TestDocumentedForms sends the other requests that ElasticJob-Cloud documents to the real server.
func TestDocumentedForms(t *testing.T) {
	m := start(t)
	m.Packages.Serve("/my-job.tar.gz", system.Tar(m, "my-job", only(`:`)))
	app := strings.Replace(quickApp, "127.0.0.1:8080", m.Packages.Host(), 1)
	job := strings.Replace(quickJob, `"cron":"0/5 * * * * * ?",`, "", 1) // without a cron it runs only when triggered
	storedApp := strings.Replace(strings.Replace(`{"appName":"my_app","appURL":"http://127.0.0.1:8080/my-job.tar.gz","bootstrapScript":"bin/start.sh","cpuCount":0.1,"memoryMB":64,"appCacheEnable":true,"eventTraceSamplingCount":0}`,
		"127.0.0.1:8080", m.Packages.Host(), 1), "\n", "", -1)
	for _, step := range []struct{ method, path, body, want string }{
		{"POST", "/api/app", app, ""},
		{"POST", "/api/job/register", job, ""},
		// A PUT that contains only the changed fields [D10].
		{"PUT", "/api/app", `{"appName":"my_app","appCacheEnable":false,"eventTraceSamplingCount":0}`,
			strings.TrimSuffix(strings.Replace(storedApp, "true", "false", 1), "}") + `,"disabled":false}`},
		{"PUT", "/api/app", `{"appName":"my_app","appCacheEnable":true}`, ""},
		{"GET", "/api/app/my_app", "", storedApp},
		{"GET", "/api/app/list", "", "[" + storedApp + "]"},
		{"PUT", "/api/job/update", `{"jobName":"my_job","description":"d"}`, ""},
		{"GET", "/api/app/my_app/disable", "", "false"},
		{"POST", "/api/app/my_app/disable", "", ""},
		{"GET", "/api/job/my_job/disable", "", "true"},
		{"GET", "/api/app/my_app/disable", "", "true"},
		{"DELETE", "/api/app/my_app/disable", "", ""}, // in 2.x this enables the app
		{"GET", "/api/job/my_job/disable", "", "false"},
		{"POST", "/api/job/my_job/disable", "", ""},
		{"GET", "/api/job/my_job/disable", "", "true"},
		{"DELETE", "/api/job/my_job/disable", "", ""}, // in 2.x this enables the job
		{"GET", "/api/job/my_job/disable", "", "false"},
		{"POST", "/api/job/my_job/disable", "", ""},
		{"POST", "/api/job/my_job/enable", "", ""},
		{"GET", "/api/job/tasks/running", "", "[]"},
		{"GET", "/api/job/tasks/ready", "", "[]"},
		{"GET", "/api/job/tasks/failover", "", "[]"},
	} {
		got := m.OK(step.method, step.path, step.body, asJSON)
		if step.want != "" && got != step.want+"\n" {
			t.Errorf("%s %s %s\n got %s\nwant %s", step.method, step.path, step.body, got, step.want)
		}
	}
	// All forms of a trigger run the job.
	for _, form := range []struct{ path, body, header string }{
		{"/api/job/trigger", "my_job", "Content-Type: text/plain"},
		{"/api/job/trigger", "my_job", "Content-Type: application/x-www-form-urlencoded"},
		{"/api/job/my_job/trigger", "", asJSON},
	} {
		m.Await(trigger(m, form.path, form.body, form.header), "FINISHED")
	}
	first := m.Await(trigger(m, "/api/job/my_job/trigger", "", "Idempotency-Key: k"), "FINISHED")
	if again := trigger(m, "/api/job/trigger", "my_job", "Idempotency-Key: k"); again != first.ExecutionID {
		t.Errorf("the same Idempotency-Key gave %s and %s", first.ExecutionID, again)
	}
	// The name as body, unquoted and quoted, and the form of 3.0.1.
	m.OK("DELETE", "/api/job/deregister", "my_job", asJSON)
	m.OK("POST", "/api/job/register", job, asJSON)
	m.OK("DELETE", "/api/job/deregister", `"my_job"`, asJSON)
	m.OK("POST", "/api/job/register", job, asJSON)
	m.OK("DELETE", "/api/job/my_job/deregister", "")
	m.OK("POST", "/api/job/register", job, asJSON)
	m.OK("DELETE", "/api/app/my_app?jobs=true", "")
	if got := m.OK("GET", "/api/job/jobs", "") + m.OK("GET", "/api/app/list", ""); got != "[]\n[]\n" {
		t.Errorf("after deleting all: %s", got)
	}
}
