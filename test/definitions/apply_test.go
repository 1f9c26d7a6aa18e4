package definitions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
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

// publish writes an app whose script does what the job's parameter says, and jobs of it.
func (u *user) publish(jobs ...string) {
	u.Helper()
	u.Packages.Serve("/billing.tar", system.Tar(u, "", system.Files{"bin/start.sh": "#!/bin/sh\neval \"$ELASTICJOB_JOB_PARAMETER\"\n"}))
	u.write("defs/app.yaml", fmt.Sprintf(appFile, u.Packages.URL("/billing.tar")))
	for _, job := range jobs {
		u.write("defs/jobs/"+job+".yml", fmt.Sprintf(jobFile, job))
	}
}

func TestFilesAreAppliedOnceAndThenNothingDiffers(t *testing.T) {
	u := start(t)
	u.publish("daily", "weekly")
	u.expect(1, words("diff -f defs --exit-code"), "+ app billing", "+ job daily", "3 to create", "something differs")
	u.expect(0, words("apply -f defs --dry-run"), "3 to create")
	if list := u.OK("GET", "/api/app/list", ""); strings.TrimSpace(list) != "[]" {
		t.Errorf("a dry run made %s", list)
	}
	u.expect(0, words("apply -f defs"), "created app billing", "created job daily", "created job weekly")
	u.expect(0, words("apply -f defs"), "Nothing differs: 3 unchanged.")
	u.expect(0, words("diff -f defs --exit-code -o json"), "[]")

	u.write("defs/jobs/daily.yml", fmt.Sprintf(jobFile, "daily")+"cron: 0 0 3 * * ?\nenv:\n  LEVEL: debug\n")
	u.expect(0, words("apply -f defs"), `cron: "" -> "0 0 3 * * ?"`, `env.LEVEL: (none) -> "debug"`, "changed job daily: cron, env")
	u.write("defs/jobs/daily.yml", fmt.Sprintf(jobFile, "daily"))
	u.expect(0, words("apply -f defs"), "changed job daily: cron, env")
	u.expect(0, words("diff -f defs --exit-code"), "Nothing differs")
}

func TestMistakesAreReportedWithFileAndLineAndNothingChanges(t *testing.T) {
	u := start(t)
	u.publish("daily", "jobs") // the second is a route of the API
	u.write("defs/broken.yaml", fmt.Sprintf(jobFile, "broken")+"cron: 0 0 99 * * ?\nretries: 3\n")
	u.expect(2, words("apply -f defs"), "defs/broken.yaml:8: job broken: cron", "defs/broken.yaml:9: job broken: retries: unknown field", "nothing was changed; 2 things are wrong")
	if err := os.Remove(filepath.Join(u.dir, "defs/broken.yaml")); err != nil {
		t.Fatal(err)
	}
	u.expect(0, words("apply -f defs/app.yaml"), "created app billing")
	u.expect(2, words("apply -f defs"), "defs/jobs/jobs.yml:2: job jobs: jobName: is reserved")
	if list := u.OK("GET", "/api/job/jobs", ""); strings.TrimSpace(list) != "[]" {
		t.Errorf("it made %s", list)
	}
	u.expect(2, words("apply"), "-f")
	u.expect(2, words("apply -f nowhere"), "nowhere")
}

// fullJob has every field of a job.
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

func TestExportOfEveryFieldAppliesToNothing(t *testing.T) {
	u := start(t)
	u.publish()
	u.write("defs/full.yaml", fullJob)
	u.write("defs/other.yaml", "kind: App\nappName: other\nappURL: https://example.com/x?token=hunter2hunter2\nbootstrapScript: bin/x\ncpuCount: 0.5\nmemoryMB: 77\n"+
		"appCacheEnable: false\neventTraceSamplingCount: 5\nappSHA256: "+strings.Repeat("ab", 32)+"\ndisabled: true\n")
	u.expect(0, words("apply -f defs"), "created job full")
	stored := u.OK("GET", "/api/job/jobs/full", "") + u.OK("GET", "/api/app/other", "")

	exported := u.expect(0, words("export"))
	if strings.Contains(exported.out, "hunter2") || exported.err != "" {
		t.Errorf("exported\n%s%s", exported.out, exported.err)
	}
	if s := u.run(exported.out, words("diff -f - --prune --exit-code")...); s.status != 0 || !strings.Contains(s.out, "Nothing differs: 3 unchanged.") {
		t.Errorf("of what was exported differs\n%s%s\nin\n%s", s.out, s.err, exported.out)
	}
	if s := u.run(exported.out, words("apply -f - --send-secrets")...); s.status != 0 {
		t.Errorf("%s%s", s.out, s.err)
	}
	if now := u.OK("GET", "/api/job/jobs/full", "") + u.OK("GET", "/api/app/other", ""); now != stored {
		t.Errorf("from\n%s\nto\n%s", stored, now)
	}
	u.expect(0, words("export -d out --app billing"), "2 files written below out")
	u.expect(0, words("diff -f out --exit-code"), "Nothing differs: 2 unchanged.")
	u.expect(4, words("export --app bling"), "there is no app bling")

	// The files have secrets in clear, which the server hides: that is said, and is no difference.
	u.expect(0, words("diff -f defs --exit-code"), "job full: ", "env.API_TOKEN", "--send-secrets", "Nothing differs")
}

func TestPruneAsksAndKillsOnlyIfTold(t *testing.T) {
	u := start(t)
	u.publish("daily")
	u.write("defs/jobs/long.yml", fmt.Sprintf(jobFile, "long")+"jobParameter: sleep 600\n")
	u.OK("POST", "/api/app", `{"appName":"others","appURL":"https://example.com/x","bootstrapScript":"x"}`)
	u.OK("POST", "/api/job/register", `{"jobName":"theirs","appName":"others","jobExecutionType":"TRANSIENT","shardingTotalCount":1,"cpuCount":0.01,"memoryMB":1}`)
	u.expect(0, words("apply -f defs"), "created job long")
	run := u.Trigger("long")
	u.Await(run, "RUNNING")

	if err := os.RemoveAll(filepath.Join(u.dir, "defs/jobs")); err != nil {
		t.Fatal(err)
	}
	u.expect(0, words("apply -f defs"), "Nothing differs: 1 unchanged.")
	u.expect(2, words("apply -f defs --prune"), "- job daily", "- job long", "2 would be removed; give --yes")
	u.expect(1, words("apply -f defs --prune --yes"), "removed job daily", "failed to remove job long: 1 of its shards run or wait", "1 of 2 failed")
	u.Await(run, "RUNNING")
	u.expect(0, words("apply -f defs --prune --yes --kill"), "removed job long")
	if jobs := u.OK("GET", "/api/job/jobs", ""); !strings.Contains(jobs, `"theirs"`) || strings.Contains(jobs, `"long"`) {
		t.Errorf("left are %s", jobs)
	}
	u.expect(0, words("apply -f defs --prune-app others --yes"), "removed job theirs", "removed app others")
}

func TestADisabledJobRunsToItsEnd(t *testing.T) {
	u := start(t)
	u.publish()
	gate := filepath.Join(u.dir, "gate")
	long := fmt.Sprintf(jobFile, "long") + "jobParameter: until [ -e " + gate + " ]; do sleep 0.1; done\n"
	u.write("defs/long.yaml", long)
	u.expect(0, words("apply -f defs"), "created job long")
	run := u.Trigger("long")
	u.Await(run, "RUNNING")
	u.write("defs/long.yaml", long+"disabled: true\n")
	u.expect(0, words("apply -f defs"), "disabled: false -> true", "changed job long: disabled")
	u.expect(0, words("apply -f defs"), "Nothing differs")
	if state := u.Execution(run).State; state != "RUNNING" {
		t.Errorf("the run is %s", state)
	}
	u.write("gate", "")
	u.Await(run, "FINISHED")
	u.write("defs/long.yaml", long+"disabled: false\n")
	u.expect(0, words("apply -f defs"), "disabled: true -> false")
}

func TestAnImportedCrontabRuns(t *testing.T) {
	u := start(t)
	u.publish()
	u.write("crontab", "GREETING=good morning\n30 2 * * 1-5 echo \"$GREETING\" > "+filepath.Join(u.dir, "said")+"; cat >> "+filepath.Join(u.dir, "said")+"%it's%late\n")
	imported := u.expect(0, append(words("import crontab crontab --app billing --cpu 0.01 --memory 1 --app-url"), u.Packages.URL("/billing.tar")), "jobName: echo", "cron: 0 30 2 ? * MON-FRI", "2 definitions")
	s := u.run(imported.out, words("apply -f -")...)
	if s.status != 0 {
		t.Fatalf("%s%s\nof\n%s", s.out, s.err, imported.out)
	}
	u.Await(u.Trigger("echo"), "FINISHED")
	text, err := os.ReadFile(filepath.Join(u.dir, "said"))
	if want := "good morning\nit's\nlate\n"; err != nil || string(text) != want {
		t.Errorf("it said %q (%v), want %q", text, err, want)
	}
}
