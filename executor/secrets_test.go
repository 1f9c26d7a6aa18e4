package executor_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// A process gets the secrets that its task refers to, with their values at its start, and no report of its end
// contains them.
func TestSecretsComeToTheProcessOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "db"), []byte("hunter2-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, env(launch.SecretsVariable, folder), env("GIVEN", "hunter2-given"))
	task := taskOf("t1", script(t, `for i in $(seq 200); do printf "$A $B "; done >&2
		echo; echo "$A $B $PLAIN_TOKEN $MARKED $URL" >&2; exit 3`))
	task.EnvFiles, task.EnvVariables = map[string]string{"A": folder + "/db"}, map[string]string{"B": "GIVEN"}
	task.Env = map[string]string{"PLAIN_TOKEN": "hunter2-named", "MARKED": "hunter2-marked",
		"URL": "https://me:hunter2-url@h/x"}
	task.Secrets = []string{"MARKED"}
	a.launch(task)
	update, status := a.await("t1", mesos.TASK_FAILED)
	if strings.Contains(status.Cause+update.GetMessage(), "unter2") ||
		!strings.HasSuffix(status.Cause, "****** ****** ****** ****** https://me:******@h/x") {
		t.Errorf("%s, %s", update.GetMessage(), status.Cause)
	}
	if got := a.read(status.Dir + "/stderr"); !strings.HasSuffix(got,
		"hunter2-file hunter2-given hunter2-named hunter2-marked https://me:hunter2-url@h/x\n") {
		t.Errorf("the process had %s", got)
	}
	task.TaskID, task.EnvFiles = "t2", map[string]string{"A": folder + "/db", "DB_PASSWORD": folder + "/none"}
	a.launch(task)
	_, status = a.await("t2", mesos.TASK_FAILED)
	if want := "env.DB_PASSWORD: file " + folder +
		"/none: there is no such file on this agent"; status.Phase != wire.PhaseStart || status.Cause != want {
		t.Errorf("unexpected status %+v", status)
	}
	if log := a.read("stderr"); strings.Contains(log, "hunter2") {
		t.Errorf("the executor's log:\n%s", log)
	}
}

// A job that is run manually gets its secrets from a folder that the user names.
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
	c.Env = append(c.Env, launch.SecretsVariable+"="+tr.dir)
	if out, err := c.Output(); err != nil || string(out) != "hunter2 m\n" {
		t.Errorf("%s, %v", out, err)
	}
	if status, _, said := tr.run(args...); status != 125 ||
		!strings.Contains(said, "it is not in a folder for secrets: on this agent that is "+launch.DefaultSecrets) {
		t.Errorf("without a folder: %d %s", status, said)
	}
}

// TestTasksOfAnotherAppAreRefused: an executor is for the app that its id names. It reads and runs nothing for a task
// of another app.
func TestTasksOfAnotherAppAreRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	key := filepath.Join(folder, "apps", "billing", "key")
	err := errors.Join(os.MkdirAll(filepath.Dir(key), 0o700), os.WriteFile(key, []byte("hunter2"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, env(launch.SecretsVariable, folder), env("MESOS_EXECUTOR_ID", "thief@-@S0@-@1"))
	task := func(id, app string) wire.Task {
		task := taskOf(id, script(t, "exit 0"))
		task.AppName = app
		return task
	}
	a.launch(task("own", "thief"))
	a.await("own", mesos.TASK_FINISHED)
	for id, app := range map[string]string{"another": "billing", "without an app": ""} {
		task := task(id, app)
		if app != "" {
			task.EnvFiles = map[string]string{"KEY": key}
		}
		a.launch(task)
		_, status := a.await(id, mesos.TASK_FAILED)
		want := fmt.Sprintf("this executor runs tasks of app thief, and the task is of app %q", app)
		if status.Phase != wire.PhaseStart || status.Cause != want {
			t.Errorf("%s: %+v, want %q", id, status, want)
		}
	}
	request := task("request", "billing")
	request.Package, request.HTTP = wire.Package{}, &wire.HTTP{URL: "http://127.0.0.1:1", Method: "GET"}
	a.launch(request)
	if _, status := a.await("request", mesos.TASK_FAILED); !strings.Contains(status.Cause, "tasks of app thief") {
		t.Errorf("unexpected status %+v", status)
	}
}

// TestAnExecutorSeesItsAppsSecretsOnly: if the data folder is hidden, an executor does not see the secrets of other
// apps, by any path. It sees those of its own app, even files that are created later.
func TestAnExecutorSeesItsAppsSecretsOnly(t *testing.T) {
	t.Parallel()
	for name, app := range map[string]string{
		"its folder": "billing", "a link to its folder": "linked", "a link out of the data folder": "outer",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := openFolder(t)
			data := filepath.Join(work, "data")
			secrets := filepath.Join(data, "secrets")
			write := func(path string) {
				path = filepath.Join(secrets, path)
				err := os.MkdirAll(filepath.Dir(path), 0o755)
				if err = errors.Join(err, os.WriteFile(path, []byte("hunter2"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			for _, folder := range []string{".", "apps/billing", "apps/other", "team", "../../outside"} {
				write(folder + "/key")
			}
			for link, to := range map[string]string{
				"all": "apps", "of-another": "apps/other/key",
				"apps/linked": "../team", "apps/outer": "../../../outside",
			} {
				if err := os.Symlink(to, filepath.Join(secrets, link)); err != nil {
					t.Fatal(err)
				}
			}
			id := env("MESOS_EXECUTOR_ID", app+"@-@S0@-@1")
			a := newAgentIn(t, work, env(launch.SecretsVariable, secrets), id, asNobody(t), func(cmd *exec.Cmd) {
				places, err := executor.HiddenFrom(cmd.Dir, app, isolation.Places{Folder: data}, []string{secrets})
				if err != nil {
					t.Fatal(err)
				}
				hideFrom(t, cmd, places)
			})
			write("apps/" + app + "/later")
			readable := map[string]bool{
				"key": true, "apps/" + app + "/key": app != "outer", "apps/" + app + "/later": app != "outer",
				"all/other/key": false, "of-another": false,
			}
			for path, want := range readable {
				task := taskOf(strings.ReplaceAll(path, "/", "-"), script(t, `test "$KEY" = hunter2`))
				task.AppName, task.EnvFiles = app, map[string]string{"KEY": secrets + "/" + path}
				a.launch(task)
				if want {
					a.await(task.TaskID, mesos.TASK_FINISHED)
					continue
				}
				_, status := a.await(task.TaskID, mesos.TASK_FAILED)
				if !strings.HasSuffix(status.Cause, "there is no such file on this agent") {
					t.Errorf("%s: unexpected status %+v", path, status)
				}
			}
		})
	}
}

// TestSecretsThatOnlyTheOperatorWrites: if the server can't create an app's folder for secrets, the app's executor
// starts without such a folder, and does not see the secrets of other apps either.
func TestSecretsThatOnlyTheOperatorWrites(t *testing.T) {
	t.Parallel()
	work := openFolder(t)
	data := filepath.Join(work, "data")
	secrets := filepath.Join(data, "secrets")
	other := filepath.Join(secrets, "apps", "other")
	err := errors.Join(os.MkdirAll(other, 0o755), os.WriteFile(secrets+"/key", []byte("hunter2"), 0o644),
		os.WriteFile(other+"/key", []byte("hunter2"), 0o644), os.Symlink("apps/other/key", secrets+"/of-another"))
	for _, folder := range []string{filepath.Dir(other), secrets} {
		err = errors.Join(err, os.Chmod(folder, 0o555))
		t.Cleanup(func() { _ = os.Chmod(folder, 0o755) }) // so that it can be removed
	}
	var as *isolation.Account
	if os.Geteuid() == 0 {
		var failed error
		as, failed = isolation.Lookup("nobody")
		err = errors.Join(err, failed, os.Chown(work, nobody, nobody)) // for the cache
	}
	if err != nil {
		t.Fatal(err)
	}
	id := env("MESOS_EXECUTOR_ID", "billing@-@S0@-@1")
	a := newAgentIn(t, work, env(launch.SecretsVariable, secrets), id, asNobody(t), func(cmd *exec.Cmd) {
		var places isolation.Places
		err := as.Do(func() (err error) {
			places, err = executor.HiddenFrom(cmd.Dir, "billing", isolation.Places{Folder: data}, []string{secrets})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		hideFrom(t, cmd, places)
	})
	for path, want := range map[string]mesos.TaskState{"key": mesos.TASK_FINISHED, "of-another": mesos.TASK_FAILED} {
		task := taskOf(path, script(t, `test "$KEY" = hunter2`))
		task.AppName, task.EnvFiles = "billing", map[string]string{"KEY": secrets + "/" + path}
		a.launch(task)
		a.await(path, want)
	}
}
