package commandline_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const appFile = `kind: App
appName: billing
appURL: %s
bootstrapScript: bin/start.sh
cpuCount: 0.01
memoryMB: 32
`

const jobFile = `kind: Job
jobName: %s
appName: billing
jobExecutionType: TRANSIENT
shardingTotalCount: 1
cpuCount: 0.01
memoryMB: 1
`

// write writes a file below the user's home.
func (u *user) write(name, text string) {
	u.Helper()
	path := filepath.Join(u.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
		os.WriteFile(path, []byte(text), 0o644)); err != nil {
		u.Fatal(err)
	}
}

// expect runs a command line, in which ~ is the user's home. It must end with this status and print these texts on
// either stream.
func (u *user) expect(status int, line string, wants ...string) result {
	u.Helper()
	atHome := strings.NewReplacer("~", u.home)
	s := u.runs("", strings.Fields(atHome.Replace(line))...)
	if s.status != status {
		u.Fatalf("elasticjob %s: status %d, want %d\n%s%s", line, s.status, status, s.out, s.err)
	}
	for _, want := range wants {
		if !strings.Contains(s.out+s.err, atHome.Replace(want)) {
			u.Fatalf("elasticjob %s: %q is not in\n%s%s", line, want, s.out, s.err)
		}
	}
	return s
}

// defines writes the files of an app, whose script executes the job's parameter, and of its jobs with these names.
func (u *user) defines(jobs ...string) {
	u.Helper()
	u.write("defs/app.yaml", fmt.Sprintf(appFile, u.serve("eval \"$ELASTICJOB_JOB_PARAMETER\"")))
	for _, job := range jobs {
		u.write("defs/jobs/"+job+".yml", fmt.Sprintf(jobFile, job))
	}
}

func TestFilesAreAppliedOnceAndThenNothingDiffers(t *testing.T) {
	u := start(t)
	u.defines("daily", "weekly")
	u.expect(1, "diff -f ~/defs --exit-code", "+ app billing", "+ job daily", "3 to create", "something differs")
	u.expect(0, "apply -f ~/defs --dry-run", "3 to create")
	if list := u.OK("GET", "/api/app/list", ""); strings.TrimSpace(list) != "[]" {
		t.Errorf("a dry run created %s", list)
	}
	u.expect(0, "apply -f ~/defs", "created app billing", "created job daily", "created job weekly")
	u.expect(0, "apply -f ~/defs", "Nothing differs: 3 unchanged.")
	u.expect(0, "diff -f ~/defs --exit-code -o json", "[]")

	u.write("defs/jobs/daily.yml", fmt.Sprintf(jobFile, "daily")+"cron: 0 0 3 * * ?\nenv:\n  LEVEL: debug\n")
	u.expect(0, "apply -f ~/defs", `cron: "" -> "0 0 3 * * ?"`, `env.LEVEL: (none) -> "debug"`,
		"changed job daily: cron, env")
	u.write("defs/jobs/daily.yml", fmt.Sprintf(jobFile, "daily"))
	u.expect(0, "apply -f ~/defs", "changed job daily: cron, env")
	u.expect(0, "diff -f ~/defs --exit-code", "Nothing differs")
}

func TestMistakesAreReportedWithFileAndLineAndNothingChanges(t *testing.T) {
	u := start(t)
	u.defines("daily", "jobs") // the second name is also a route of the API
	u.write("defs/broken.yaml", fmt.Sprintf(jobFile, "broken")+"cron: 0 0 99 * * ?\nretries: 3\n")
	u.expect(2, "apply -f ~/defs", "~/defs/broken.yaml:8: job broken: cron",
		"~/defs/broken.yaml:9: job broken: retries: unknown field", "nothing was changed; 2 things are wrong")
	if err := os.Remove(filepath.Join(u.home, "defs/broken.yaml")); err != nil {
		t.Fatal(err)
	}
	u.expect(0, "apply -f ~/defs/app.yaml", "created app billing")
	u.expect(2, "apply -f ~/defs", "~/defs/jobs/jobs.yml:2: job jobs: jobName: is reserved")
	if list := u.OK("GET", "/api/job/jobs", ""); strings.TrimSpace(list) != "[]" {
		t.Errorf("apply created %s although a file is wrong", list)
	}
	u.expect(2, "apply", "-f")
	u.expect(2, "apply -f nowhere", "nowhere")
}

// fullJob sets every field of a job.
const fullJob = `kind: Job
jobName: full
appName: billing
jobExecutionType: DAEMON
cron: 0 0 3 * * ?
shardingTotalCount: 2
cpuCount: 0.011
memoryMB: 1.5
shardingItemParameters: 0=a,1=b
jobParameter: "exit 0 # https://me:hunter2hunter2@example.com/"
failover: true
misfire: true
description: "with \"quotes\", ünïcode\nand lines"
props:
  webhook.url: https://example.com/hook?token=hunter2hunter2
  webhook.secret: hunter2hunter2
  own: "0080"
jobExecutorServiceHandlerType: SINGLE_THREAD
jobErrorHandlerType: WEBHOOK
timeZone: Asia/Shanghai
timeoutSeconds: 60
maxRetries: 3
retryBackoffSeconds: 5
killGraceSeconds: 7
env:
  LEVEL: debug
  API_TOKEN: hunter2hunter2
  USER_NAME: {value: hunter2hunter2, secret: true}
  FROM_FILE: {fromFile: /etc/elasticjob/secrets/db}
  FROM_ENV: {fromEnv: HOSTNAME}
disabled: true
`

func TestApplyOfAnExportChangesNothing(t *testing.T) {
	u := start(t)
	u.defines()
	u.write("defs/full.yaml", fullJob)
	u.write("defs/other.yaml", "kind: App\nappName: other\nappURL: https://example.com/x?token=hunter2hunter2\nbootstrapScript: bin/x\ncpuCount: 0.5\nmemoryMB: 77\n"+
		"appCacheEnable: false\neventTraceSamplingCount: 5\nappSHA256: "+strings.Repeat("ab", 32)+"\ndisabled: true\n")
	u.expect(0, "apply -f ~/defs", "created job full")
	stored := u.OK("GET", "/api/job/jobs/full", "") + u.OK("GET", "/api/app/other", "")

	exported := u.expect(0, "export")
	if strings.Contains(exported.out, "hunter2") || exported.err != "" {
		t.Errorf("exported\n%s%s", exported.out, exported.err)
	}
	if s := u.runs(exported.out, "diff", "-f", "-", "--prune", "--exit-code"); s.status != 0 ||
		!strings.Contains(s.out, "Nothing differs: 3 unchanged.") {
		t.Errorf("the export differs from the server's state:\n%s%s\nexported:\n%s", s.out, s.err, exported.out)
	}
	if s := u.runs(exported.out, "apply", "-f", "-", "--send-secrets"); s.status != 0 {
		t.Errorf("%s%s", s.out, s.err)
	}
	if now := u.OK("GET", "/api/job/jobs/full", "") + u.OK("GET", "/api/app/other", ""); now != stored {
		t.Errorf("apply of the export changed\n%s\nto\n%s", stored, now)
	}
	u.expect(0, "export -d ~/out --app billing", "2 files written below ~/out")
	u.expect(0, "diff -f ~/out --exit-code", "Nothing differs: 2 unchanged.")
	u.expect(4, "export --app bling", "there is no app bling")

	// The files contain secrets in clear, which the server hides. That causes a note, but no difference.
	u.expect(0, "diff -f ~/defs --exit-code", "job full: ", "env.API_TOKEN", "--send-secrets", "Nothing differs")
}

func TestPruneAsksFirstAndKillsOnlyOnRequest(t *testing.T) {
	u := start(t)
	u.defines("daily")
	u.write("defs/jobs/long.yml", fmt.Sprintf(jobFile, "long")+"jobParameter: sleep 600\n")
	u.OK("POST", "/api/app", `{"appName":"others","appURL":"https://example.com/x","bootstrapScript":"x"}`)
	u.OK("POST", "/api/job/register", `{"jobName":"theirs","appName":"others","jobExecutionType":"TRANSIENT","shardingTotalCount":1,"cpuCount":0.01,"memoryMB":1}`)
	u.expect(0, "apply -f ~/defs", "created job long")
	run := u.Trigger("long")
	u.Await(run, "RUNNING")

	if err := os.RemoveAll(filepath.Join(u.home, "defs/jobs")); err != nil {
		t.Fatal(err)
	}
	u.expect(0, "apply -f ~/defs", "Nothing differs: 1 unchanged.")
	u.expect(2, "apply -f ~/defs --prune", "- job daily", "- job long", "2 would be removed; give --yes")
	u.expect(1, "apply -f ~/defs --prune --yes", "removed job daily",
		"failed to remove job long: 1 of its shards run or wait", "1 of 2 failed")
	u.Await(run, "RUNNING")
	u.expect(0, "apply -f ~/defs --prune --yes --kill", "removed job long")
	if jobs := u.OK("GET", "/api/job/jobs", ""); !strings.Contains(jobs, `"theirs"`) ||
		strings.Contains(jobs, `"long"`) {
		t.Errorf("left are %s", jobs)
	}
	u.expect(0, "apply -f ~/defs --prune-app others --yes", "removed job theirs", "removed app others")
}

func TestADisabledJobRunsToItsEnd(t *testing.T) {
	u := start(t)
	u.defines()
	gate := filepath.Join(u.home, "gate")
	long := fmt.Sprintf(jobFile, "long") + "jobParameter: until [ -e " + gate + " ]; do sleep 0.1; done\n"
	u.write("defs/long.yaml", long)
	u.expect(0, "apply -f ~/defs", "created job long")
	run := u.Trigger("long")
	u.Await(run, "RUNNING")
	u.write("defs/long.yaml", long+"disabled: true\n")
	u.expect(0, "apply -f ~/defs", "disabled: false -> true", "changed job long: disabled")
	u.expect(0, "apply -f ~/defs", "Nothing differs")
	if state := u.Execution(run).State; state != "RUNNING" {
		t.Errorf("the run is %s", state)
	}
	u.write("gate", "")
	u.Await(run, "FINISHED")
	u.write("defs/long.yaml", long+"disabled: false\n")
	u.expect(0, "apply -f ~/defs", "disabled: true -> false")
}

func TestAnImportedCrontabRuns(t *testing.T) {
	u := start(t)
	u.defines()
	u.write("crontab", "GREETING=good morning\n30 2 * * 1-5 echo \"$GREETING\" > "+filepath.Join(u.home,
		"said")+"; cat >> "+filepath.Join(u.home, "said")+"%it's%late\n")
	imported := u.expect(0, "import crontab ~/crontab --app billing --cpu 0.01 --memory 1 --app-url "+
		u.serve("exit 0"), "jobName: echo", "cron: 0 30 2 ? * MON-FRI", "2 definitions")
	s := u.runs(imported.out, "apply", "-f", "-")
	if s.status != 0 {
		t.Fatalf("%s%s\nof\n%s", s.out, s.err, imported.out)
	}
	u.Await(u.Trigger("echo"), "FINISHED")
	text, err := os.ReadFile(filepath.Join(u.home, "said"))
	if want := "good morning\nit's\nlate\n"; err != nil || string(text) != want {
		t.Errorf("the job wrote %q (%v), want %q", text, err, want)
	}
}

func TestPruneAsksOnATerminal(t *testing.T) {
	u := start(t)
	u.defines("daily")
	u.expect(0, "apply -f ~/defs")
	s := u.types("apply", "-f", filepath.Join(u.home, "defs/app.yaml"), "--prune")
	s.shows("Remove 1, and change the rest as shown? [y/N]")
	s.press("\n")
	if status := s.ends(); status != 2 {
		t.Errorf("without a yes the status is %d", status)
	}
	u.expect(0, "job show daily")

	s = u.types("apply", "-f", filepath.Join(u.home, "defs/app.yaml"), "--prune")
	s.shows("[y/N]")
	s.press("\x03")
	if status := s.ends(); status != 130 {
		t.Errorf("interrupted, the status is %d", status)
	}
	u.expect(0, "job show daily")

	s = u.types("apply", "-f", filepath.Join(u.home, "defs/app.yaml"), "--prune")
	s.shows("[y/N]")
	s.press("y\n")
	if status := s.ends(); status != 0 {
		t.Errorf("with a yes the status is %d", status)
	}
	u.expect(4, "job show daily")
}

func TestImportSaysWhatItCannotRead(t *testing.T) {
	u := start(t)
	u.write("notes", "nothing that is due\n")
	u.expect(2, "import crontab ~/notes", "~/notes:1: TO DO: not an entry of a crontab",
		"nothing was found to import")
	u.expect(2, "import xxl-job ~/notes", "INSERT INTO xxl_job_info")
	u.expect(2, "import elasticjob-lite ~/nowhere", "nowhere")
	u.expect(2, "import cron ~/notes", "did you mean crontab?")
	u.expect(2, "import crontab ~/notes -o json", "YAML")
}
