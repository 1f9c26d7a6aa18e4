package convert_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/internal/properties"
	"github.com/elasticjob-go/elasticjob/jobs"
)

var update = flag.Bool("update", false, "rewrite the files of testdata with the expected results")

// TestFiles compares the result of each file in testdata with FILE.want: the definitions, followed by the remarks.
func TestFiles(t *testing.T) {
	t.Parallel()
	crontabOf := func(file string, text []byte, o convert.Options) (*convert.Result, error) {
		return convert.Crontab(file, text, o), nil
	}
	for _, test := range []struct {
		file    string
		convert func(string, []byte, convert.Options) (*convert.Result, error)
		options convert.Options
	}{
		{"crontab.txt", crontabOf, convert.Options{AppURL: "https://example.com/crontab.tar.gz"}},
		{"cron.d", crontabOf, convert.Options{System: true, TimeZone: "Europe/Berlin", CPUCount: 1, MemoryMB: 64}},
		{"supercronic.txt", crontabOf, convert.Options{}},
		{"schedulers.txt", crontabOf, convert.Options{}},
		{"spring-boot.yml", convert.Lite, convert.Options{}},
		{"spring.xml", convert.Lite, convert.Options{App: "orders", AppURL: "https://example.com/orders.tar.gz", BootstrapScript: "bin/run.sh"}},
		{"zookeeper.yml", convert.Lite, convert.Options{}},
		{"spring_properties.xml", convert.Lite, convert.Options{Properties: propertiesOf(t, "job.properties")}},
		{"lists.yml", convert.Lite, convert.Options{}},
		{"profiles.yml", convert.Lite, convert.Options{Profiles: []string{"prod-eu"}}},
		{"application.properties", convert.Lite, convert.Options{}},
		{"spring_1.xml", convert.Lite, convert.Options{}},
		{"xxl_job.sql", convert.XXLJob, convert.Options{}},
		{"xxl_page.json", convert.XXLJob, convert.Options{}},
		{"xxl_upsert.sql", convert.XXLJob, convert.Options{}},
		{"xxl_zone.sql", convert.XXLJob, convert.Options{}},
		{"xxl_bom.sql", convert.XXLJob, convert.Options{}},
		{"xxl_glue.sql", convert.XXLJob, convert.Options{}},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", test.file)
			file, err := definitions.ReadFile(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			test.options.Now = now
			result, err := test.convert(test.file, file.Text, test.options)
			if err != nil {
				t.Fatal(err)
			}
			got := yaml(t, result)
			if strings.Contains(got, "hunter2") && test.file != "schedulers.txt" {
				t.Errorf("a secret is in\n%s", got)
			}
			for _, remark := range result.Remarks {
				got += "# " + remark.String() + "\n"
			}
			if *update {
				if err := os.WriteFile(path+".want", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s\n(-update rewrites it)", got, want)
			}
			if test.options.AppURL == "" {
				return
			}
			// With the URL of an app nothing is missing, so that the definitions must be valid.
			if _, err := definitions.Read([]definitions.Source{{Name: "x", Text: []byte(got)}}, now); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDisabledJobs checks that the option disables every job, so that the other scheduler can continue, but no app.
func TestDisabledJobs(t *testing.T) {
	t.Parallel()
	options := convert.Options{Disabled: true, AppURL: "https://example.com/a.tar.gz", Now: now}
	result := convert.Crontab("crontab", []byte("0 3 * * * a\n0 4 * * * b\n"), options)
	if len(result.Definitions) != 3 {
		t.Fatalf("%d definitions, want an app and two jobs", len(result.Definitions))
	}
	for _, d := range result.Definitions {
		disabled := d.Disabled != nil && *d.Disabled
		if want := d.Kind == definitions.Job; disabled != want {
			t.Errorf("%s: disabled %t, want %t", d.Name(), disabled, want)
		}
	}
}

// propertiesOf returns the properties in a file.
func propertiesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	all, err := properties.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, p := range all {
		values[p.Key] = p.Value
	}
	return values
}

// TestCommandsDoWhatCronWouldHaveThemDo runs the converted commands as executors do.
func TestCommandsDoWhatCronWouldHaveThemDo(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`* * * * * echo "it's $((1+1))"`:                      "it's 2\n",
		`* * * * * cat%one%two`:                               "one\ntwo\n",
		`* * * * * cat && cat /dev/null; echo 5\%%one`:        "one\n5%\n",
		`* * * * * echo a   b | tr a-z A-Z`:                   "A B\n",
		`* * * * * false || { echo $# '&' "$NAME"; }`:         "0 & x y\n",
		`* * * * * echo 'single' "double" back\\slash \$HOME`: "single double back\\slash $HOME\n",
	} {
		result := crontab(t, "NAME = \"x y\"\n"+entry+"\n", convert.Options{})
		job := result.Definitions[0].Job
		words, err := app.SplitCommand(job.Prop(jobs.PropScript))
		if err != nil || job.ContextArgument() {
			t.Fatalf("%s: %v; with the context as an argument: %v", entry, err, job.ContextArgument())
		}
		cmd := exec.Command(words[0], words[1:]...)
		for name, value := range job.Env {
			cmd.Env = append(cmd.Env, name+"="+value.Value)
		}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s printed %q (%v), want %q", entry, out, err, want)
		}
	}
}

func TestOtherFilesAreRefusedWithAHint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: b\n":                         "no job of ElasticJob-Lite",
		"<beans/>":                       "no job of ElasticJob-Lite",
		"<beans>":                        "not XML",
		"a: [":                           "not YAML",
		"elasticjob: {jobs: &a {x: *a}}": "too deep",
	} {
		if _, err := convert.Lite("x", []byte(text), convert.Options{Now: now}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"SELECT 1;":                           "INSERT INTO xxl_job_info",
		`{"data":[`:                           "not JSON",
		`[]`:                                  "INSERT INTO xxl_job_info",
		strings.Repeat("[", 200):              "nested deeper",
		"INSERT INTO xxl_job_group VALUES (1": "INSERT INTO xxl_job_info",
	} {
		if _, err := convert.XXLJob("x", []byte(text), convert.Options{Now: now}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestErrorsOfFilesShowNoSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"elasticjob:\n  jobs:\n    x: {props: {email.password: *hunter2}}\n",
		"<beans>\n<prop key='email.password'>a&hunter2;</prop></beans>",
	} {
		if _, err := convert.Lite("x", []byte(text), convert.Options{Now: now}); err == nil ||
			strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOldTablesOfXXLJobAreKnownByTheirColumns(t *testing.T) {
	t.Parallel()
	old := `INSERT INTO xxl_job_info VALUES (5,1,'0 0 0 * * ? *','Old',NULL,NULL,'a','','FIRST','oldHandler','','SERIAL_EXECUTION',0,0,'BEAN','','',NULL,'',1,0,0);`
	result, err := convert.XXLJob("x", []byte(old), convert.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if job := result.Definitions[0].Job; job.JobName != "oldHandler" || job.Cron != "0 0 0 * * ? *" ||
		job.Description != "Old" {
		t.Errorf("%+v", job)
	}
}

func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o := convert.Options{Now: now}
		results := []*convert.Result{convert.Crontab("x", text, o)}
		for _, convert := range []func(string, []byte, convert.Options) (*convert.Result, error){convert.Lite,
			convert.XXLJob} {
			if result, err := convert("x", text, o); err == nil {
				results = append(results, result)
			}
		}
		for _, result := range results {
			written, err := definitions.Encode(result.Definitions)
			if err != nil {
				t.Fatal(err)
			}
			read, _ := definitions.Read([]definitions.Source{{Name: "x", Text: written}}, now)
			if len(read.All) != len(result.Definitions) {
				t.Errorf("%d definitions came back from\n%s", len(read.All), written)
			}
		}
	})
}

// TestOneMoreEntryChangesOneJob checks that a job keeps its name when another one is added before it.
func TestOneMoreEntryChangesOneJob(t *testing.T) {
	t.Parallel()
	for _, entries := range [][]string{
		{"0 1 * * * cd /app && php artisan bills:run", "0 2 * * * cd /app && php artisan mails:send", "30 0 * * * cd /app && php artisan cache:clear"},
		{"0 1 * * * /srv/bin/copy /srv/a", "0 1 * * * /srv/bin/copy /srv/b", "0 1 * * * /srv/bin/copy /srv/c"},
		{"0 1 * * * java -jar /srv/a.jar bills", "0 1 * * * java -jar /srv/a.jar mails", "0 1 * * * java -jar /srv/b.jar mails"},
		{"0 1 * * * curl -s https://example.com/a", "0 2 * * * curl -s https://example.com/b", "0 3 * * * /srv/bin/x"},
	} {
		names := func(lines []string) map[string]bool {
			all := map[string]bool{}
			for _, d := range crontab(t, strings.Join(lines, "\n")+"\n", convert.Options{}).Definitions {
				all[d.Name()] = true
			}
			return all
		}
		before, after := names(entries[:2]), names([]string{entries[2], entries[0], entries[1]})
		for name := range before {
			if !after[name] || len(after) != 3 {
				t.Errorf("%s became one of %v", name, after)
			}
		}
	}
}
