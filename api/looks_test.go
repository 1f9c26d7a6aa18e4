package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api"
)

func TestCronInWords(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Zone: berlin,
		Now: func() time.Time { return time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC) }})
	for path, want := range map[string]string{
		"?cron=0+0+3+?+*+MON-FRI&count=2": `{"cron":"0 0 3 ? * MON-FRI","timeZone":"Europe/Berlin","words":"at 03:00, from Monday to Friday","nextFires":[` +
			`{"time":"2026-03-30T01:00:00Z","local":"2026-03-30T03:00:00+02:00","note":""},{"time":"2026-03-31T01:00:00Z","local":"2026-03-31T03:00:00+02:00","note":""}],"notes":[]}`,
		"?cron=0+30+2+*+*+?&count=2": `{"cron":"0 30 2 * * ?","timeZone":"Europe/Berlin","words":"at 02:30, every day","nextFires":[` +
			`{"time":"2026-03-28T01:30:00Z","local":"2026-03-28T02:30:00+01:00","note":""},` +
			`{"time":"2026-03-30T00:30:00Z","local":"2026-03-30T02:30:00+02:00","note":"the clock moves forward: there is no 02:30:00 on 2026-03-29, and no fire at it"}],"notes":[]}`,
		"?cron=0/5+*+*+*+*+*+?&timeZone=Asia/Shanghai&count=1&language=zh": `{"cron":"0/5 * * * * * ?","timeZone":"Asia/Shanghai","words":"每 5 秒","nextFires":[` +
			`{"time":"2026-03-27T12:00:05Z","local":"2026-03-27T20:00:05+08:00","note":""}],"notes":[` + sevenRead +
			`]}`,
		"?cron=0+0+0+30+2+?": `{"cron":"0 0 0 30 2 ?","timeZone":"Europe/Berlin","words":"at 00:00, on the 30th of February","nextFires":[],` +
			`"notes":["cron \"0 0 0 30 2 ?\" never fires (again): the job runs on trigger only"]}`,
	} {
		answer, text := call(t, server, "GET", "/api/cron"+path, "")
		if diff := cmp.Diff(want+"\n", text); answer.StatusCode != http.StatusOK || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", path, answer.StatusCode, diff)
		}
	}
	for path, want := range map[string]struct {
		status int
		field  string
	}{
		"":                                      {422, "cron"},
		"?cron=0+0+3+*+*+MON":                   {422, "cron"},
		"?cron=0+0+3+*+*+?&timeZone=Mars/Olymp": {422, "timeZone"},
		"?cron=0+0+3+*+*+?&count=101":           {400, "count"},
		"?cron=0+0+3+*+*+?&language=fr":         {400, "language"},
	} {
		answer, text := call(t, server, "GET", "/api/cron"+path, "")
		if e := readError(t, answer, text); answer.StatusCode != want.status || len(e.Error.Fields) != 1 ||
			e.Error.Fields[0].Field != want.field {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

func TestCheckAJob(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	call(t, server, "POST", "/api/app", appDocument)
	before := b.changed()
	answer, text := call(t, server, "POST", "/api/job/check",
		with(jobDocument, `"monitorExecution":true,"env":{"TOKEN":"hunter2"}`))
	var check struct {
		Document struct {
			JobName  string
			Failover bool
		}
		Notes     []string
		Cron      struct{ Words string }
		Placement struct {
			Fits   bool
			Shards []any
			Reason string
		}
	}
	if err := json.Unmarshal([]byte(text), &check); err != nil || answer.StatusCode != http.StatusOK ||
		strings.Contains(text, "hunter2") {
		t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
	}
	if check.Document.JobName != "my_job" || len(check.Notes) != 2 || check.Cron.Words != "every 5 seconds" ||
		check.Placement.Shards == nil || check.Placement.Reason == "" {
		t.Errorf("%s", text)
	}
	if b.changed() != before || len(b.jobs) > 0 {
		t.Error("the check has changed something")
	}

	call(t, server, "POST", "/api/job/register", with(jobDocument, `"env":{"TOKEN":"hunter2"}`))
	before = b.changed()
	for name, c := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"there is one":    {"/api/job/check", jobDocument, 409, `"job_exists"`},
		"no app":          {"/api/job/check", swap(swap(jobDocument, "my_job", "new"), "my_app", "none"), 404, `"app_not_found"`},
		"all that is bad": {"/api/job/check", swap(swap(jobDocument, `"my_job"`, `"check"`), "0/5 * * * * * ?", "nonsense"), 422, `"field":"cron"`},
		"reserved":        {"/api/job/check", swap(swap(jobDocument, `"my_job"`, `"check"`), "0/5 * * * * * ?", "nonsense"), 422, `"field":"jobName"`},
		"an update":       {"/api/job/check?update=true", `{"jobName":"my_job","cron":"","env":{"TOKEN":"******"}}`, 200, `"cron":null`},
		"a bad update":    {"/api/job/check?update=true", `{"jobName":"my_job","shardingTotalCount":0}`, 422, `"field":"shardingTotalCount"`},
		"nothing there":   {"/api/job/check?update=true", `{"jobName":"none"}`, 404, `"job_not_found"`},
		"a flag":          {"/api/job/check?update=maybe", jobDocument, 400, `"field":"update"`},
	} {
		answer, text := call(t, server, "POST", c.path, c.body)
		if answer.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", name, answer.StatusCode, text)
		}
	}
	if b.changed() != before || b.jobs["my_job"].Config.Cron == "" ||
		b.jobs["my_job"].Config.Env["TOKEN"].Value != "hunter2" {
		t.Error("a check has changed something")
	}
}

// On a cluster whose jobs run in images the example needs no package, which pods might not be able to fetch.
func TestExampleInAnImage(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), PodTemplate: noNodeName,
		AgentURL: "http://127.0.0.1:8899", ExampleImage: "elasticjob-task:1"})
	_, text := call(t, server, "GET", "/api/example", "")
	var example struct{ App json.RawMessage }
	if err := json.Unmarshal([]byte(text), &example); err != nil ||
		!strings.Contains(text, `"image":"elasticjob-task:1"`) || strings.Contains(text, "127.0.0.1") {
		t.Fatalf("%s: %v", text, err)
	}
	if answer, text := call(t, server, "POST", "/api/app", string(example.App)); answer.StatusCode != http.StatusOK ||
		strings.Contains(text, `"notes"`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// The example can be published and registered unchanged, and the schemas have all of its fields.
func TestExampleAndSchemas(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b, AgentURL: "http://127.0.0.1:8899"})
	_, text := call(t, server, "GET", "/api/example", "")
	var example struct {
		App  map[string]any
		Jobs []map[string]any
	}
	if err := json.Unmarshal([]byte(text), &example); err != nil || len(example.Jobs) != 1 ||
		example.App["appURL"] != "http://127.0.0.1:8899/artifacts/example.tar.gz" {
		t.Fatalf("%s: %v", text, err)
	}
	for _, post := range []struct {
		path, schema string
		document     map[string]any
	}{{"/api/app", "/api/schema/app", example.App}, {"/api/job/register", "/api/schema/job", example.Jobs[0]}} {
		body, err := json.Marshal(post.document)
		if err != nil {
			t.Fatal(err)
		}
		if answer, text := call(t, server, "POST", post.path, string(body)); answer.StatusCode != http.StatusOK ||
			strings.Contains(text, `"notes"`) {
			t.Errorf("%s: %d %s", post.path, answer.StatusCode, text)
		}
		answer, text := call(t, server, "GET", post.schema, "")
		var schema struct {
			Schema     string `json:"$schema"`
			Properties map[string]any
		}
		if err := json.Unmarshal([]byte(text), &schema); err != nil || answer.StatusCode != http.StatusOK ||
			!strings.Contains(schema.Schema, "2020-12") {
			t.Errorf("%s: %d %s: %v", post.schema, answer.StatusCode, text, err)
		}
		for field := range post.document {
			if schema.Properties[field] == nil {
				t.Errorf("%s lacks %s", post.schema, field)
			}
		}
	}
	answer, content := call(t, server, "GET", "/artifacts/example.tar.gz", "")
	tag := answer.Header.Get("ETag")
	if answer.StatusCode != http.StatusOK || len(content) < 100 || tag == "" {
		t.Fatalf("%d, %d bytes, ETag %s", answer.StatusCode, len(content), tag)
	}
	if answer, _ := call(t, server, "GET", "/artifacts/example.tar.gz", "",
		"If-None-Match: "+tag); answer.StatusCode != http.StatusNotModified {
		t.Errorf("the same package again: %d", answer.StatusCode)
	}
	other := start(t, api.Options{Scheduler: newFakeScheduler()})
	if answer, again := call(t, other, "GET", "/artifacts/example.tar.gz", ""); again != content ||
		answer.Header.Get("ETag") != tag {
		t.Error("another server has another package")
	}
}
