package executor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/wire"
)

// A process gets the secrets that its task names, as they are when it starts, and no report of its end has them.
func TestSecretsComeToTheProcessOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "db"), []byte("hunter2-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, env(executor.SecretsVariable, folder), env("GIVEN", "hunter2-given"))
	task := taskOf("t1", script(t, `for i in $(seq 200); do printf "$A $B "; done >&2
		echo; echo "$A $B $PLAIN_TOKEN $MARKED $URL" >&2; exit 3`))
	task.EnvFiles, task.EnvVariables = map[string]string{"A": folder + "/db"}, map[string]string{"B": "GIVEN"}
	task.Env = map[string]string{"PLAIN_TOKEN": "hunter2-named", "MARKED": "hunter2-marked", "URL": "https://me:hunter2-url@h/x"}
	task.Secrets = []string{"MARKED"}
	a.launch(task)
	update, status := a.await("t1", mesos.TASK_FAILED)
	if strings.Contains(status.Cause+update.GetMessage(), "unter2") || !strings.HasSuffix(status.Cause, "****** ****** ****** ****** https://me:******@h/x") {
		t.Errorf("%s, %s", update.GetMessage(), status.Cause)
	}
	if got := a.read(status.Dir + "/stderr"); !strings.HasSuffix(got, "hunter2-file hunter2-given hunter2-named hunter2-marked https://me:hunter2-url@h/x\n") {
		t.Errorf("the process had %s", got)
	}
	task.TaskID, task.EnvFiles = "t2", map[string]string{"A": folder + "/db", "DB_PASSWORD": folder + "/none"}
	a.launch(task)
	_, status = a.await("t2", mesos.TASK_FAILED)
	if want := "env.DB_PASSWORD: file " + folder + "/none: there is no such file on this agent"; status.Phase != wire.PhaseStart || status.Cause != want {
		t.Errorf("%+v", status)
	}
	if log := a.read("stderr"); strings.Contains(log, "hunter2") {
		t.Errorf("the executor's log:\n%s", log)
	}
}

// By hand a job gets its secrets from a folder that the shell names.
func TestSecretsByHand(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, map[string]string{"db": "hunter2\n"})
	tr.pack(`echo "$DB_PASSWORD $MARKED"`)
	job := `{"jobName":"j","appName":"a","jobExecutionType":"TRANSIENT","shardingTotalCount":1,"cpuCount":1,"memoryMB":64,"env":{"DB_PASSWORD":{"fromFile":"` + tr.dir + `/db"},"MARKED":{"value":"m","secret":true}}}`
	if err := os.WriteFile(filepath.Join(tr.dir, "job.json"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--app", "app.tar.gz", "--script", "bin/start.sh", "--job", "job.json"}
	c := tr.command(args...)
	c.Env = append(c.Env, executor.SecretsVariable+"="+tr.dir)
	if out, err := c.Output(); err != nil || string(out) != "hunter2 m\n" {
		t.Errorf("%s, %v", out, err)
	}
	if status, _, said := tr.run(args...); status != 125 || !strings.Contains(said, "it is in no folder for secrets: that is "+executor.DefaultSecrets) {
		t.Errorf("without a folder: %d %s", status, said)
	}
}
