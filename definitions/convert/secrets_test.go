package convert_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestSecretsOfCommandsComeFromFiles runs converted commands as executors do, with variables that have the content of
// the files, which is hunter2.
func TestSecretsOfCommandsComeFromFiles(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`echo --password hunter2 x`:                        "--password hunter2 x\n",
		`echo --password 'hunter2' x`:                      "--password hunter2 x\n",
		`echo "--db-password=hunter2 x"`:                   "--db-password=hunter2 x\n",
		`DB_PASSWORD=hunter2 sh -c 'echo $DB_PASSWORD'`:    "hunter2\n",
		`PGPASSWORD='hunter2' sh -c 'echo $PGPASSWORD'`:    "hunter2\n",
		`echo '{"password":"hunter2"}' # token=hunter2`:    `{"password":"hunter2"}` + "\n",
		`echo "{\"password\":\"hunter2\"}"`:                `{"password":"hunter2"}` + "\n",
		`echo -H "Authorization: Bearer hunter2"`:          "-H Authorization: Bearer hunter2\n",
		`echo 'it'\''s'; sh -c 'echo --token hunter2'`:     "it's\n--token hunter2\n",
		`echo a --token hunter2 b --db.pass=hunter2`:       "a --token hunter2 b --db.pass=hunter2\n",
		`echo mysql:\; ; : mysql -phunter2; echo -phunter`: "mysql:;\n-phunter\n",
	} {
		result := crontab(t, "* * * * * "+command+"\n", convert.Options{})
		job := result.Definitions[0].Job
		if all := everything(t, result, nil); strings.Contains(all, "hunter2") || result.ToDos() < 2 {
			t.Errorf("%s: %s", command, all)
		}
		words, err := app.SplitCommand(job.Prop(jobs.PropScript))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(words[0], words[1:]...)
		for name, value := range job.Env {
			if !strings.HasPrefix(value.FromFile, "/etc/elasticjob/secrets/"+job.JobName+".") {
				t.Errorf("%s: %s is %+v", command, name, value)
			}
			cmd.Env = append(cmd.Env, name+"=hunter2")
		}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s became %s, which printed %q (%v), want %q", command, job.Prop(jobs.PropScript), out, err, want)
		}
	}
}

// TestNoSecretIsImported checks that secrets anywhere in a source are neither in the definitions nor in the remarks.
func TestNoSecretIsImported(t *testing.T) {
	t.Parallel()
	const row = "INSERT INTO xxl_job_info (id,executor_handler,trigger_status,schedule_type,schedule_conf,%s) VALUES (1,'h',1,'CRON','0 0 3 * * ?',%s);"
	xxl := func(columns, values string) func() (*convert.Result, error) {
		return func() (*convert.Result, error) {
			return convert.XXLJob("x", fmt.Appendf(nil, row, columns, values), convert.Options{Now: now})
		}
	}
	lite := func(settings string) func() (*convert.Result, error) {
		return func() (*convert.Result, error) {
			return convert.Lite("x.yml", []byte(
				"elasticjob:\n  jobs:\n    a:\n      cron: 0 0 3 * * ?\n      shardingTotalCount: 1\n"+settings),
				convert.Options{Now: now})
		}
	}
	cron := func(text string) func() (*convert.Result, error) {
		return func() (*convert.Result, error) {
			return convert.Crontab("x", []byte(text), convert.Options{Now: now}), nil
		}
	}
	for name, read := range map[string]func() (*convert.Result, error){
		"JSON parameter":     xxl("executor_param", `'{"db":{"password":"hunter2"}}'`),
		"description":        xxl("job_desc", "'sync, password: hunter2'"),
		"shell script":       xxl("glue_type,glue_source", `'GLUE_SHELL','#!/bin/bash\nmysqldump -uroot -phunter2 db\ncurl -u me:hunter2 h'`),
		"script with input":  xxl("glue_type,glue_source", `'GLUE_SHELL','mysql -phunter2 <<EOF\nselect 1\nEOF\n'`),
		"Python script":      xxl("glue_type,glue_source", `'GLUE_PYTHON','db = connect(host="h", password="hunter2")'`),
		"unknown column":     xxl("a_note", "'curl -H \"X-Api-Key: hunter2\" h'"),
		"property":           lite("      props:\n        command: run --token hunter2\n"),
		"command line":       lite("      scriptCommandLine: run --db-password=hunter2\n"),
		"shard parameters":   lite("      shardingItemParameters: 0=a --token hunter2\n"),
		"unknown setting":    lite("      other: PGPASSWORD=hunter2 psql\n"),
		"variable":           cron("JAVA_OPTS=-Dspring.datasource.password=hunter2\n* * * * * java\n"),
		"comment":            cron("# password: hunter2\n* * * * * x\n"),
		"name":               cron("* * * * * echo hunter2 | sudo -S reboot\n"),
		"standard input":     cron("* * * * * mysql%set password='hunter2'\n"),
		"another shell":      cron("SHELL=/usr/bin/fish\n* * * * * run --password hunter2\n"),
		"entry without time": cron("run --password hunter2\n"),
		"app": func() (*convert.Result, error) {
			return convert.Crontab("x", []byte("* * * * * x\n"),
				convert.Options{Now: now, AppURL: "https://h/a.tar?token=hunter2"}), nil
		},
	} {
		result, err := read()
		if all := everything(t, result, err); err != nil || strings.Contains(all, "hunter2") ||
			!strings.Contains(all, "TO DO") {
			t.Errorf("%s: %s", name, all)
		}
	}
}
