package whole_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// configuration returns the answers about everything that users can change, byte for byte.
func configuration(m *system.Machine) string {
	m.Helper()
	all := m.OK("GET", "/api/app/list", "") + m.OK("GET", "/api/job/jobs", "")
	for _, path := range []string{"/api/app/a", "/api/app/off", "/api/job/j", "/api/job/idle"} {
		all += m.OK("GET", path+"/disable", "")
	}
	return all
}

// TestBadInputChangesNothing is promise 5: invalid requests are rejected with the reason, and change nothing.
func TestBadInputChangesNothing(t *testing.T) {
	m := start(t)
	m.App("a", only(":"), nil)
	m.App("off", only(":"), nil)
	m.Job("j", "a", system.Doc{"cron": "0 0 0 1 1 ?", "shardingTotalCount": 3,
		"shardingItemParameters": "0=a,1=b,2=c"})
	m.Job("idle", "a", nil)
	m.OK("POST", "/api/app/off/disable", "")
	m.OK("POST", "/api/job/idle/disable", "")
	before := configuration(m)

	app := func(more string) string {
		return `{"appName":"b","appURL":"http://127.0.0.1/x","bootstrapScript":"x"` + more + `}`
	}
	job := func(more string) string {
		return `{"jobName":"k","jobExecutionType":"TRANSIENT",` + more + `}`
	}
	const sizes, on = `"cpuCount":0.1,"memoryMB":1`, `"appName":"a"`
	for _, test := range []struct {
		status                   int
		code, method, path, body string
		want                     string // "field: message", or only words of it
	}{
		{400, "bad_json", "POST", "/api/app", "{\n\"appName\": b}", "line 2"},
		{400, "bad_json", "POST", "/api/app", "", ""},
		{400, "bad_json", "POST", "/api/job/register", `{"jobName":"k"`, ""},
		{400, "bad_json", "PUT", "/api/job/update", `{"jobName":"j",}`, ""},
		{400, "bad_json", "POST", "/api/app", app(`,"memoryMB":NaN`), ""},
		{400, "bad_json", "POST", "/api/app", app(`,"memoryMB":Infinity`), ""},
		{400, "name_missing", "POST", "/api/job/trigger", "", ""},
		{400, "bad_query", "DELETE", "/api/app/a?jobs=perhaps", "", "jobs"},
		{404, "app_not_found", "GET", "/api/app/none", "", "none"},
		{404, "app_not_found", "PUT", "/api/app", `{"appName":"none"}`, "none"},
		{404, "app_not_found", "DELETE", "/api/app/none", "", "none"},
		{404, "app_not_found", "POST", "/api/app/none/disable", "", "none"},
		{404, "app_not_found", "POST", "/api/job/register", job(`"appName":"none","shardingTotalCount":1,` + sizes), "Register app 'none' firstly."},
		{404, "job_not_found", "PUT", "/api/job/update", `{"jobName":"none"}`, "none"},
		{404, "job_not_found", "DELETE", "/api/job/none/deregister", "", "none"},
		{404, "job_not_found", "POST", "/api/job/trigger", "none", "none"},
		{404, "job_not_found", "GET", "/api/job/none/explain", "", "none"},
		{404, "job_not_found", "POST", "/api/job/none/enable", "", "none"},
		{404, "execution_not_found", "GET", "/api/execution/none", "", "none"},
		{404, "task_not_found", "GET", "/api/task/none/logs", "", "none"},
		{404, "task_not_abandoned", "POST", "/api/task/none/forget", "", "none"},
		{404, "no_route", "GET", "/api/job/lists", "", "/api/"},
		{405, "method_not_allowed", "PATCH", "/api/app", "{}", ""},
		{405, "method_not_allowed", "GET", "/api/job/register", "", ""},
		{409, "app_exists", "POST", "/api/app", strings.Replace(app(""), `"b"`, `"a"`, 1), "app 'a' already existed."},
		{409, "job_exists", "POST", "/api/job/register", strings.Replace(job(on+`,"shardingTotalCount":1,`+sizes), `"k"`, `"j"`, 1), "Job 'j' already existed."},
		{409, "app_disabled", "POST", "/api/job/register", job(`"appName":"off","shardingTotalCount":1,` + sizes), "enable"},
		{409, "job_disabled", "POST", "/api/job/trigger", "idle", "idle"},
		{409, "app_has_jobs", "DELETE", "/api/app/a", "", `["idle" "j"]`},
		{413, "body_too_large", "POST", "/api/app", strings.Repeat(" ", 2<<20), "1 MiB"},
		{413, "body_too_large", "PUT", "/api/job/update", `{"jobName":"j","description":"` + strings.Repeat("x", 2<<20) + `"}`, "1 MiB"},
		{422, "invalid", "POST", "/api/app", app(`,"memoryMB":"much"`), "memoryMB"},
		{422, "invalid", "POST", "/api/app", app(`,"memoryMb":64`), "did you mean memoryMB?"},
		{422, "invalid", "POST", "/api/app", app(`,"cpuCount":-0.1`), "cpuCount: -0.1"},
		{422, "invalid", "POST", "/api/app", app(`,"cpuCount":1e999`), "cpuCount: 1e999"},
		{422, "invalid", "POST", "/api/app", app(`,"memoryMB":1e300`), "memoryMB: 1e+300"},
		{422, "invalid", "POST", "/api/app", app(`,"appSHA256":"abc"`), "appSHA256"},
		{422, "invalid", "POST", "/api/app", strings.Replace(app(""), "http:", "ftp:", 1), "ftp is not supported"},
		{422, "invalid", "POST", "/api/app", strings.Replace(app(""), `"b"`, `"../b"`, 1), "appName"},
		{422, "invalid", "POST", "/api/app", strings.Replace(app(""), `"b"`, `"list"`, 1), "appName"},
		{422, "invalid", "PUT", "/api/app", `{"appName":"a","appURL":""}`, "appURL"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalCount":1,"cron":"0 0 25 * * ?",` + sizes), "column 5"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalCount":-3,` + sizes), "shardingTotalCount: -3"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalCount":1e9,` + sizes), "shardingTotalCount"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalCount":1,"shardingItemParameters":"0=a,0=b",` + sizes), "shardingItemParameters"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalCount":1,"shardingItemParameters":"1=a",` + sizes), "shardingItemParameters"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalCount":1,"timeZone":"Mars/Olympus",` + sizes), "Mars/Olympus"},
		{422, "invalid", "POST", "/api/job/register", job(on + `,"shardingTotalcount":1,` + sizes), "did you mean shardingTotalCount?"},
		{422, "invalid", "PUT", "/api/job/update", `{"jobName":"j","shardingTotalCount":2}`, "shardingItemParameters"},
		{422, "invalid", "PUT", "/api/job/update", `{"jobName":"j","cron":"* * * * *"}`, "cron"},
	} {
		said := fmt.Sprintf("%+v", m.Refused(test.status, test.code, test.method, test.path, test.body))
		if plain := strings.NewReplacer("{Field:", "", " Value:", ": ", " Message:",
			": ").Replace(said); !strings.Contains(said, test.want) && !strings.Contains(plain, test.want) {
			t.Errorf("%s %s %.200s: %s, want %q in it", test.method, test.path, test.body, said, test.want)
		}
	}
	for _, header := range []string{"Host: evil.example", "Origin: http://evil.example"} {
		if a := m.Call("POST", "/api/job/trigger", "j", header); a.Status != 403 {
			t.Errorf("%s: %d %s", header, a.Status, a.Body)
		}
	}
	if after := configuration(m); after != before {
		t.Errorf("the configuration was\n%s and is\n%s", before, after)
	}
	if n := m.Metric("elasticjob_triggers_total"); n != "0" {
		t.Errorf("%s triggers were accepted", n)
	}
	m.Kill()
	m.Start()
	if after := configuration(m); after != before {
		t.Errorf("after kill -9 the configuration was\n%s and is\n%s", before, after)
	}
	m.OK("DELETE", "/api/app/a?jobs=true", "")
	if got := m.OK("GET", "/api/job/jobs", ""); got != "[]\n" {
		t.Errorf("jobs of a deleted app: %s", got)
	}
}

// TestBadPackages: each bad package fails its task with the reason, and the next good package of the app runs. The test
// does not compare executors, because every update of the app creates another executor, and obsolete executors end at
// any time.
func TestBadPackages(t *testing.T) {
	m := start(t)
	good := system.Tar(m, "", only("echo good"))
	m.App("p", only("echo good"), nil)
	m.Job("p", "p", nil)
	m.Packages.Serve("/garbage.tar.gz", []byte("\x1f\x8b\x08garbage that is no gzip stream at all"))
	m.Packages.Serve("/empty", nil)
	m.Packages.Serve("/half.tar", good[:520])
	m.Packages.Serve("/evil.tar", system.Tar(m, "",
		system.Files{"../../../evil.sh": "x", "bin/start.sh": script("echo evil")}))
	m.Packages.Serve("/other.tar", system.Tar(m, "", system.Files{"bin/other.sh": script("echo other")}))
	for _, test := range []struct{ name, change, want string }{
		{"dead host", `"appURL":"http://127.0.0.1:1/x.tar"`, "127.0.0.1:1"},
		{"not there", fmt.Sprintf(`"appURL":%q`, m.Packages.URL("/nothing.tar")), "404"},
		{"garbage", fmt.Sprintf(`"appURL":%q`, m.Packages.URL("/garbage.tar.gz")), "garbage.tar.gz"},
		{"empty", fmt.Sprintf(`"appURL":%q`, m.Packages.URL("/empty")), "empty"},
		{"half", fmt.Sprintf(`"appURL":%q`, m.Packages.URL("/half.tar")), "half.tar"},
		{"evil", fmt.Sprintf(`"appURL":%q`, m.Packages.URL("/evil.tar")), "evil"},
		{"no script", fmt.Sprintf(`"appURL":%q`, m.Packages.URL("/other.tar")), "bin/start.sh"},
		{"checksum", fmt.Sprintf(`"appURL":%q,"appSHA256":"%064d"`, m.Packages.URL("/p.tar"), 7), "sha256"},
	} {
		m.OK("PUT", "/api/app", `{"appName":"p",`+test.change+`}`)
		e := m.Run("p", "FAILED", "FINISHED")
		if s := e.Shards[0]; s.State != "FAILED" ||
			!strings.Contains(strings.ToLower(s.FailureCause), strings.ToLower(test.want)) || e.Reason == "" {
			t.Errorf("%s: %+v, want %q in the cause", test.name, e, test.want)
		}
		m.OK("PUT", "/api/app", fmt.Sprintf(`{"appName":"p","appURL":%q,"appSHA256":null}`, m.Packages.URL("/p.tar")))
		if e := m.Run("p", "FINISHED"); m.Logs(e.Shards[0].TaskID, "") != "good\n" {
			t.Errorf("after %s: %+v", test.name, e)
		}
	}
}

// TestMissingScript: a job whose script is not in the package fails, and the app's only executor runs the next job.
func TestMissingScript(t *testing.T) {
	m := start(t)
	m.App("p", only("echo good"), nil)
	m.Job("p", "p", nil)
	m.Job("missing", "p", system.Doc{"props": env("script.command.line", "bin/missing.sh")})
	m.Run("p", "FINISHED")
	before := fmt.Sprint(m.Executors())
	if s := m.Run("missing", "FAILED").Shards[0]; !strings.Contains(s.FailureCause, "bin/missing.sh") {
		t.Errorf("missing script: %+v", s)
	}
	m.Run("p", "FINISHED")
	if after := fmt.Sprint(m.Executors()); after != before || len(m.Executors()) != 1 {
		t.Errorf("executors %s before a task failed, %s after", before, after)
	}
}

// TestExecutorSurvivesMissingPackage: the executor survives a package that cannot be fetched.
func TestExecutorSurvivesMissingPackage(t *testing.T) {
	m := start(t)
	m.App("late", nil, nil)
	m.Job("late", "late", system.Doc{"shardingTotalCount": 2})
	for _, s := range m.Run("late", "FAILED").Shards {
		if s.State != "FAILED" || !strings.Contains(s.FailureCause, "404") {
			t.Errorf("%+v", s)
		}
	}
	before := fmt.Sprint(m.Executors())
	m.Packages.Serve("/late.tar", system.Tar(m, "", only("echo good")))
	m.Run("late", "FINISHED")
	if after := fmt.Sprint(m.Executors()); after != before || len(m.Executors()) != 1 {
		t.Errorf("executors %s before, %s after", before, after)
	}
}
