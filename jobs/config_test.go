package jobs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/document/documenttest"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// sevenFieldsNote is part of the note that says how the seven fields of quickStart's cron are read.
const sevenFieldsNote = "has seven fields and is read as seconds 0/5, minutes *, hours *, day of month *, month *, day of week *, year ?, which is any year"

const quickStart = `{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","cron":"0/5 * * * * * ?","shardingTotalCount":3,"cpuCount":0.1,"memoryMB":64.0}`

// stored returns the document of quickStart.
func stored() jobs.Config {
	return jobs.Config{
		JobName: "my_job", AppName: "my_app", JobExecutionType: jobs.Transient, Cron: "0/5 * * * * * ?",
		ShardingTotalCount: 3, CPUCount: 0.1, MemoryMB: 64,
	}
}

func TestDecodeQuickStart(t *testing.T) {
	t.Parallel()
	got, notes, err := jobs.Schema.Decode([]byte(quickStart), jobs.Default())
	if err != nil || len(notes) != 0 {
		t.Fatal(notes, err)
	}
	if diff := cmp.Diff(stored(), got); diff != "" {
		t.Error(diff)
	}
	if bad, notes := got.Check(options()); len(bad) > 0 || len(notes) != 1 ||
		!strings.Contains(notes[0], sevenFieldsNote) {
		t.Error(bad, notes)
	}
}

func TestDecodeUpdate(t *testing.T) {
	t.Parallel()
	base := stored()
	base.Props = document.Texts{"a": {Value: "1"}, "b": {Value: "2"}}
	base.Env = document.Texts{"X": {Value: "1"}}
	got, _, err := jobs.Schema.Decode(
		[]byte(`{"jobName":"my_job","cron":null,"props":{"c":"3"},"env":null,"failover":true}`), base)
	if err != nil {
		t.Fatal(err)
	}
	want := stored()
	want.Cron, want.Failover, want.Props = "", true, document.Texts{"c": {Value: "3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if base.Props["a"].Value != "1" || base.Env["X"].Value != "1" {
		t.Errorf("the stored document was changed: %+v", base)
	}
}

// TestDecodeIgnoresOlderFields checks that the fields of the original's client and of its older versions are accepted,
// and that there is a note about each.
func TestDecodeIgnoresOlderFields(t *testing.T) {
	t.Parallel()
	ignored := []string{
		"monitorExecution", "maxTimeDiffSeconds", "reconcileIntervalMinutes", "jobShardingStrategyType",
		"jobShardingStrategyClass", "disabled", "overwrite", "jobListenerTypes", "label", "staticSharding",
		"monitorPort", "jobExtraConfigurations", "jobType", "jobClass", "beanName", "applicationContext",
		"streamingProcess", "scriptCommandLine", "jobProperties",
	}
	for _, value := range []string{`null`, `true`, `"SCRIPT"`, `-1`, `{"a":[1]}`} {
		for _, name := range ignored {
			got, notes, err := jobs.Schema.Decode([]byte(`{"`+name+`":`+value+`}`), stored())
			if err != nil || len(notes) != 1 || !strings.HasPrefix(notes[0], name+" is ignored: ") {
				t.Errorf("%s: notes %q, error %v", name, notes, err)
			}
			if diff := cmp.Diff(stored(), got); diff != "" {
				t.Error(diff)
			}
		}
	}
	_, notes, _ := jobs.Schema.Decode([]byte(`{"scriptCommandLine":"a.sh"}`), stored())
	if want := "scriptCommandLine is ignored: set props script.command.line instead"; notes[0] != want {
		t.Errorf("got %q, want %q", notes[0], want)
	}
}

// TestDecodeOriginalsAnswer checks that the original's answer to a GET can be sent back unchanged.
func TestDecodeOriginalsAnswer(t *testing.T) {
	t.Parallel()
	got, notes, err := jobs.Schema.Decode([]byte(`{"appName":"my_app","cpuCount":0.1,"memoryMB":64.0,"jobExecutionType":"TRANSIENT","jobName":"my_job",
		"cron":"0/5 * * * * * ?","shardingTotalCount":3,"shardingItemParameters":null,"jobParameter":null,"failover":false,"misfire":false,
		"monitorExecution":false,"maxTimeDiffSeconds":0,"reconcileIntervalMinutes":0,"jobShardingStrategyType":null,
		"jobExecutorServiceHandlerType":null,"jobErrorHandlerType":null,"description":null,"props":{},"disabled":false,"overwrite":false}`), jobs.Default())
	if err != nil || len(notes) != 6 {
		t.Errorf("notes %q, error %v", notes, err)
	}
	if diff := cmp.Diff(stored(), got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeViolations(t *testing.T) {
	t.Parallel()
	documenttest.Refuses(t, jobs.Schema, stored(), []documenttest.Refused{
		{`{"shardingTotalCount":"3"}`, "shardingTotalCount", `"3"`, "a whole number is expected, found a string"},
		{`{"shardingTotalCount":2.5}`, "shardingTotalCount", "2.5", "a whole number is expected, found a fraction"},
		{`{"shardingTotalCount":1e400}`, "shardingTotalCount", "1e400", "the number is too large"},
		{`{"failover":"yes"}`, "failover", `"yes"`, "true or false is expected, found a string"},
		{`{"shardingCount":3}`, "shardingCount", "3", "unknown field; did you mean shardingTotalCount?"},
		{`{"shardingTotalcount":3}`, "shardingTotalcount", "3", "unknown field; did you mean shardingTotalCount?"},
		{`{"timezone":"UTC"}`, "timezone", `"UTC"`, "unknown field; did you mean timeZone?"},
		{`{"props":"a"}`, "props", "", "an object of strings is expected, found a string"},
		{`{"props":{"a":1}}`, "props.a", "", "a string, or an object with value, fromFile or fromEnv, is expected, found a number"},
		{`{"props":{"a":null}}`, "props.a", "", "a string, or an object with value, fromFile or fromEnv, is expected, found null"},
		{`{"props":{"a":"1","a":"2"}}`, "props.a", "", "is given more than once"},
		{`{"env":{"TOKEN":["secret"]}}`, "env.TOKEN", "", "a string, or an object with value, fromFile or fromEnv, is expected, found an array"},
		{`{"env":{"A":{}}}`, "env.A", "", "give one of value, fromFile and fromEnv"},
		{`{"env":{"A":{"secret":true}}}`, "env.A", "", "give one of value"},
		{`{"env":{"A":{"value":"hunter2","fromEnv":"B"}}}`, "env.A", "", "give one of value"},
		{`{"env":{"A":{"value":5,"secret":true}}}`, "env.A.value", "", "a string is expected"},
		{`{"env":{"A":{"value":null}}}`, "env.A.value", "", "a string is expected"},
		{`{"env":{"A":{"value":"x","value":"y"}}}`, "env.A.value", "", "is given more than once"},
		{`{"env":{"A":{"value":"x","secret":"yes"}}}`, "env.A.secret", "", "true or false is expected"},
		{`{"env":{"DB_PASSWORD":{"fromfile":"/x"}}}`, "env.DB_PASSWORD.fromfile", "", "unknown key; did you mean fromFile?"},
		{`{"env":{"A":{"vault":"x"}}}`, "env.A.vault", "", "unknown key; known are value, secret, fromFile and fromEnv"},
		{`{"env":{"A":{"from":"x"}}}`, "env.A.from", "", "unknown key; "},
		{`{"env":{"A":{"fromFile":""}}}`, "env.A.fromFile", "", "is empty"},
		{`{"env":{"A":{"fromFile":"/x","secret":true}}}`, "env.A.secret", "", "is allowed with value only"},
		{`{"passwort":{"value":"hunter2"}}`, "passwort", "", "unknown field"},
		{`{"password":"hunter2"}`, "password", "******", "unknown field"},
		{`{"database":"https://me:hunter2@h/x"}`, "database", "https://me:******@h/x", "unknown field"},
		{`{"cpuCount":"https:\/\/me:hunter2@h/x"}`, "cpuCount", "https://me:******@h/x", "a number is expected"},
		{`{"jobName":"another"}`, "jobName", "another", "cannot be changed"},
		{`{"label":1,"label":2}`, "label", "2", "is given more than once"},
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	if name, err := jobs.Schema.Name([]byte(quickStart)); name != "my_job" || err != nil {
		t.Errorf("got %q, %v", name, err)
	}
	_, err := jobs.Schema.Name([]byte(`{"appName":"a"}`))
	if bad := documenttest.Violations(t, err); bad[0].Field != "jobName" {
		t.Error(bad)
	}
}

func configs() *rapid.Generator[jobs.Config] {
	texts := rapid.MapOf(rapid.String(), rapid.Custom(func(t *rapid.T) document.Text {
		return document.Text{Value: rapid.String().Draw(t, "value"), Secret: rapid.Bool().Draw(t, "secret")}
	}))
	return rapid.Custom(func(t *rapid.T) jobs.Config {
		return jobs.Config{
			JobName:                       rapid.String().Draw(t, "name"),
			AppName:                       rapid.String().Draw(t, "app"),
			JobExecutionType:              rapid.String().Draw(t, "type"),
			Cron:                          rapid.String().Draw(t, "cron"),
			ShardingTotalCount:            int(rapid.Int32().Draw(t, "shards")),
			CPUCount:                      rapid.Float64().Draw(t, "cpu"),
			MemoryMB:                      rapid.Float64().Draw(t, "memory"),
			ShardingItemParameters:        rapid.String().Draw(t, "parameters"),
			JobParameter:                  rapid.String().Draw(t, "parameter"),
			Failover:                      rapid.Bool().Draw(t, "failover"),
			Misfire:                       rapid.Bool().Draw(t, "misfire"),
			Description:                   rapid.String().Draw(t, "description"),
			Props:                         document.Texts(texts.Draw(t, "props")),
			JobExecutorServiceHandlerType: rapid.String().Draw(t, "executor handler"),
			JobErrorHandlerType:           rapid.String().Draw(t, "error handler"),
			TimeZone:                      rapid.String().Draw(t, "zone"),
			MaxRetries:                    int(rapid.Int32().Draw(t, "retries")),
			Env:                           document.Texts(texts.Draw(t, "env")),
		}
	})
}

func TestDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	documenttest.RoundTrips(t, jobs.Schema, jobs.Default(), configs())
}

func TestDecodeMergesOneField(t *testing.T) {
	t.Parallel()
	documenttest.MergesOneField(t, jobs.Schema, configs())
}
