package jobs_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

func options() jobs.CheckOptions {
	return jobs.CheckOptions{
		Reserved: func(name string) bool { return name == "register" },
		Now:      time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
		Local:    time.UTC,
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	type config = jobs.Config
	scriptProps := document.Texts{jobs.PropScript: {Value: "x"}}
	tests := []struct {
		name   string
		change func(*config)
		field  string // "" for a valid document
		want   string // part of the message; for a valid document, part of its note
	}{
		{"quick start", func(*config) {}, "", ""},
		{"reserved name", func(c *config) { c.JobName = "register" }, "jobName", "is reserved"},
		{"no name", func(c *config) { c.JobName = "" }, "jobName", "is missing"},
		{"name with space [D02]", func(c *config) { c.JobName = "my job" }, "jobName", "1 to 100 letters"},
		{"no app", func(c *config) { c.AppName = "" }, "appName", "is missing"},
		{"app with the name of a route for jobs", func(c *config) { c.AppName = "register" }, "", ""},
		{"no type", func(c *config) { c.JobExecutionType = "" }, "jobExecutionType", "is missing; give TRANSIENT or DAEMON"},
		{"unknown type [D15]", func(c *config) { c.JobExecutionType = "transient" }, "jobExecutionType", "must be TRANSIENT or DAEMON"},
		{"daemon", func(c *config) { c.JobExecutionType = jobs.Daemon }, "", ""},
		{"daemon without cron", func(c *config) { c.JobExecutionType, c.Cron = jobs.Daemon, "" }, "cron", "is missing: a job of type DAEMON is fired by its cron"},
		{"daemon whose cron is in the past", func(c *config) { c.JobExecutionType, c.Cron = jobs.Daemon, "0 0 0 1 1 ? 2020" }, "", "the shards stay, and do nothing"},
		{"daemon with a handler", func(c *config) {
			c.JobExecutionType, c.JobExecutorServiceHandlerType = jobs.Daemon, jobs.ConcurrencyCPU
		}, "", ""},
		{"no cron", func(c *config) { c.Cron = "" }, "", "no cron: the job runs on trigger only"},
		{"cron in the past", func(c *config) { c.Cron = "0 0 0 1 1 ? 2020" }, "", "never fires (again)"},
		{"cron with a year", func(c *config) { c.Cron = "0 30 2 * * ? 2090" }, "", "is read as seconds 0, minutes 30, hours 2, day of month *, month *, day of week ?, year 2090"},
		{"cron for a day that does not exist", func(c *config) { c.Cron = "0 0 0 31 11 ?" }, "", "never fires (again)"},
		{"bad cron", func(c *config) { c.Cron = "0 61 * * * ?" }, "cron", "61"},
		{"one shard", func(c *config) { c.ShardingTotalCount = 1 }, "", ""},
		{"as many shards as allowed", func(c *config) { c.ShardingTotalCount = 10_000 }, "", ""},
		{"no shards [D15]", func(c *config) { c.ShardingTotalCount = 0 }, "shardingTotalCount", "from 1 to 10000"},
		{"negative shards", func(c *config) { c.ShardingTotalCount = -3 }, "shardingTotalCount", "from 1 to 10000"},
		{"too many shards", func(c *config) { c.ShardingTotalCount = 10_001 }, "shardingTotalCount", "from 1 to 10000"},
		{"wrong count, for which parameters are not checked", func(c *config) { c.ShardingTotalCount, c.ShardingItemParameters = 0, "0=a" }, "shardingTotalCount", "from 1"},
		{"parameters", func(c *config) { c.ShardingItemParameters = "0=a,1=b" }, "", ""},
		{"a secret in a request", func(c *config) {
			c.JobParameter = "https://me:hunter2@host/x"
			c.Props = document.Texts{"http.url": {Value: "https://h/x"}, "http.method": {Value: "GET"}}
		}, "", ""},
		{"a URL without a secret", func(c *config) { c.JobParameter, c.Cron = "https://host/x?a=b", "" }, "", "no cron"},
		{"a password in a URL of the parameter", func(c *config) { c.JobParameter = "mysql://me:hunter2@host/db" }, "", "jobParameter has a password or token in it"},
		{"a token in a URL of a shard's parameter", func(c *config) { c.ShardingItemParameters = "0=redis://:hunter2@h" }, "", "shardingItemParameters has a password or token in it"},
		{"a password in a URL of the script", func(c *config) {
			c.Props = document.Texts{jobs.PropScript: {Value: "run --db mysql://me:hunter2@host/db"}}
		}, "", "props.script.command.line has a password or token in it"},
		{"bad parameters", func(c *config) { c.ShardingItemParameters = "3=a" }, "shardingItemParameters", "shard 3 does not exist"},
		{"no CPU", func(c *config) { c.CPUCount = 0 }, "cpuCount", "from 0.001"},
		{"CPU NaN", func(c *config) { c.CPUCount = math.NaN() }, "cpuCount", "from 0.001"},
		{"no memory", func(c *config) { c.MemoryMB = 0 }, "memoryMB", "from 1"},
		{"script", func(c *config) { c.Props = document.Texts{jobs.PropScript: {Value: "sh -c 'a | b'"}, "x": {Value: ""}} }, "", ""},
		{"empty script", func(c *config) { c.Props = document.Texts{jobs.PropScript: {Value: ""}} }, "props.script.command.line", "is missing"},
		{"script with pipe", func(c *config) { c.Props = document.Texts{jobs.PropScript: {Value: "a | b"}} }, "props.script.command.line", "sh -c '…'"},
		{"zone", func(c *config) { c.TimeZone = "Asia/Shanghai" }, "", ""},
		{"unknown zone", func(c *config) { c.TimeZone = "Europe/Atlantis" }, "timeZone", "unknown time zone"},
		{"zone as ElasticJob-Lite writes it", func(c *config) { c.TimeZone = "GMT+8:00" }, "timeZone", "Etc/GMT-8"},
		{"the machine's zone", func(c *config) { c.TimeZone = "Local" }, "timeZone", "leave it out for the server's"},
		{"zone as a path", func(c *config) { c.TimeZone = "../../etc/passwd" }, "timeZone", "unknown time zone"},
		{"retries", func(c *config) { c.MaxRetries = 100 }, "", ""},
		{"too many retries", func(c *config) { c.MaxRetries = 101 }, "maxRetries", "from 0 to 100"},
		{"negative retries", func(c *config) { c.MaxRetries = -1 }, "maxRetries", "from 0 to 100"},
		{"longest timeout", func(c *config) { c.TimeoutSeconds = 2_592_000 }, "", ""},
		{"too long timeout", func(c *config) { c.TimeoutSeconds = 2_592_001 }, "timeoutSeconds", "from 0 to 2592000"},
		{"negative timeout", func(c *config) { c.TimeoutSeconds = -1 }, "timeoutSeconds", "from 0 to 2592000"},
		{"longest backoff", func(c *config) { c.RetryBackoffSeconds = 86_400 }, "", ""},
		{"too long backoff", func(c *config) { c.RetryBackoffSeconds = 86_401 }, "retryBackoffSeconds", "from 0 to 86400"},
		{"longest grace", func(c *config) { c.KillGraceSeconds = 3600 }, "", ""},
		{"CPU limit below the request", func(c *config) { c.CPUCount, c.CPULimit = 0.5, 0.4 }, "cpuLimit", "must be 0, for no limit, or from cpuCount"},
		{"negative CPU limit", func(c *config) { c.CPULimit = -1 }, "cpuLimit", "from cpuCount"},
		{"huge CPU limit", func(c *config) { c.CPULimit = 1e9 }, "cpuLimit", "to 1000000"},
		{"too long grace", func(c *config) { c.KillGraceSeconds = 3601 }, "killGraceSeconds", "from 0 to 3600"},
		{"shortest silence", func(c *config) { c.UnreachableSeconds = 15 }, "", ""},
		{"too short silence", func(c *config) { c.UnreachableSeconds = 14 }, "unreachableSeconds", "from 15 to 604800, or 0"},
		{"too long silence", func(c *config) { c.UnreachableSeconds = 604_801 }, "unreachableSeconds", "from 15 to 604800, or 0"},
		{"shortest lease", func(c *config) { c.Exclusive, c.LeaseSeconds, c.TimeoutSeconds = true, 10, 1 }, "", ""},
		{"too short lease", func(c *config) { c.Exclusive, c.LeaseSeconds, c.TimeoutSeconds = true, 9, 1 }, "leaseSeconds", "from 10 to 3600, or 0 for 60"},
		{"too long lease", func(c *config) { c.Exclusive, c.LeaseSeconds, c.TimeoutSeconds = true, 3601, 1 }, "leaseSeconds", "from 10 to 3600"},
		{"lease of a job that is not exclusive", func(c *config) { c.LeaseSeconds = 60 }, "", "leaseSeconds has no effect"},
		{"exclusive job without limit", func(c *config) { c.Exclusive = true }, "", "set timeoutSeconds"},
		{"exclusive request", func(c *config) {
			c.Exclusive, c.TimeoutSeconds, c.Props = true, 1, document.Texts{jobs.PropHTTPURL: {Value: "http://h/"}, jobs.PropHTTPMethod: {Value: "GET"}}
		}, "exclusive", "with a process"},
		{"env", func(c *config) { c.Env = document.Texts{"_a1": {Value: ""}, "PATH": {Value: "/bin"}} }, "", ""},
		{"env with dash", func(c *config) { c.Env = document.Texts{"a-b": {Value: "hunter2"}} }, "env.a-b", "letters, digits"},
		{"env with digit", func(c *config) { c.Env = document.Texts{"1a": {Value: ""}} }, "env.1a", "letters, digits"},
		{"env without name", func(c *config) { c.Env = document.Texts{"": {Value: "x"}} }, "env.", "letters, digits"},
		{"reserved env", func(c *config) { c.Env = document.Texts{"ELASTICJOB_X": {Value: "1"}} }, "env.ELASTICJOB_X", "the scheduler's own"},
		{"env of Mesos", func(c *config) { c.Env = document.Texts{"MESOS_X": {Value: "1"}} }, "env.MESOS_X", "the scheduler's own"},
		{"env too long", func(c *config) { c.Env = document.Texts{"X": {Value: strings.Repeat("x", 70_000)}} }, "env.X", "at most 64 KiB"},
		{"env with NUL", func(c *config) { c.Env = document.Texts{"X": {Value: "hunter2\x00"}} }, "env.X", "NUL"},
		{"parameter with NUL", func(c *config) { c.JobParameter = "a\x00" }, "jobParameter", "NUL"},
		{"props key with NUL", func(c *config) { c.Props = document.Texts{"a\x00": {Value: ""}} }, "props", "NUL"},
		{"description with NUL", func(c *config) { c.Description = "\x00" }, "description", "NUL"},
		{"handler", func(c *config) { c.JobExecutorServiceHandlerType = "SINGLE_THREAD" }, "", "jobExecutorServiceHandlerType has no effect"},
		{"unknown handler", func(c *config) { c.JobExecutorServiceHandlerType = "GPU" }, "jobExecutorServiceHandlerType", "CPU, SINGLE_THREAD"},
		{"error handler", func(c *config) { c.JobErrorHandlerType = "THROW" }, "", ""},
		{"unknown error handler", func(c *config) { c.JobErrorHandlerType = "FAX" }, "jobErrorHandlerType", "LOG, THROW, IGNORE, EMAIL, WECHAT, DINGTALK, WEBHOOK"},
		{"long parameter of a command", func(c *config) { c.JobParameter = strings.Repeat("x", 500_000) }, "", ""},
		{"long parameter of a script", func(c *config) { c.Props, c.JobParameter = scriptProps, strings.Repeat("x", 65_534) }, "", ""},
		{"longer parameter of a script", func(c *config) { c.Props, c.JobParameter = scriptProps, strings.Repeat("x", 65_535) }, "jobParameter", "at most 64 KiB"},
		{"longer parameter of a script without the context", func(c *config) {
			c.Props = document.Texts{jobs.PropScript: {Value: "x"}, jobs.PropScriptContext: {Value: "False"}}
			c.JobParameter = strings.Repeat("x", 500_000)
		}, "", ""},
		{"longer parameter of a request", func(c *config) {
			c.Props = document.Texts{jobs.PropHTTPURL: {Value: "http://h/"}, jobs.PropHTTPMethod: {Value: "GET"}}
			c.JobParameter = strings.Repeat("x", 65_535)
		}, "jobParameter", "at most 64 KiB as JSON, since a header of the request holds it"},
		{"parameter too long as JSON", func(c *config) { c.Props, c.JobParameter = scriptProps, strings.Repeat("\x01", 20_000) }, "jobParameter", "at most 64 KiB"},
		{"parameters too long together", func(c *config) {
			c.Props, c.JobParameter = scriptProps, strings.Repeat("x", 40_000)
			c.ShardingItemParameters = "0=a,1=" + strings.Repeat("y", 40_000)
		}, "shardingItemParameters", "the parameter of shard 1 and jobParameter"},
		{"settings too large for all shards together",
			func(c *config) { c.JobParameter, c.ShardingTotalCount = strings.Repeat("x", 60<<10), 1200 }, "",
			"1200 shards are given 61 KiB of jobParameter, env and props each, 71 MiB together, and may be given at most 64 MiB"},
		{"settings just small enough for all shards together", func(c *config) { c.JobParameter, c.ShardingTotalCount = strings.Repeat("x", 60<<10), 1000 }, "", ""},
		{"a long description, and long parameters of single shards", func(c *config) {
			c.Description, c.ShardingItemParameters, c.ShardingTotalCount = strings.Repeat("x", 200<<10),
				"1="+strings.Repeat("x", 60<<10), 10_000
		}, "", ""},
		{"document too long", func(c *config) { c.Description = strings.Repeat("x", 600_000) }, "", "512 KiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := stored()
			test.change(&c)
			bad, notes := c.Check(options())
			notes = slices.DeleteFunc(notes, func(note string) bool {
				return strings.Contains(note, sevenFieldsNote) || strings.HasSuffix(note, "year 2020")
			})
			if strings.Contains(test.want, "KiB") && test.field == "" { // a violation of no single field
				if len(bad) != 1 || !strings.Contains(bad[0].Message, test.want) {
					t.Errorf("got %v", bad)
				}
				return
			}
			if test.field == "" {
				good := len(bad) == 0 && len(notes) <= 1 && strings.Contains(strings.Join(notes, ""), test.want)
				if !good || test.want == "" && len(notes) > 0 {
					t.Errorf("got %v, notes %q; want the note %q", bad, notes, test.want)
				}
				return
			}
			if len(bad) != 1 || bad[0].Field != test.field || !strings.Contains(bad[0].Message, test.want) {
				t.Errorf("got %+v, want %s: …%s…", bad, test.field, test.want)
			}
			if strings.Contains(bad.Error()+bad[0].Value, "hunter2") {
				t.Errorf("a secret is shown: %+v", bad)
			}
		})
	}
}

func TestCheckReturnsAllViolations(t *testing.T) {
	t.Parallel()
	c := jobs.Config{
		Cron: "x", ShardingItemParameters: "a=b", Props: document.Texts{jobs.PropScript: {Value: "'"}}, TimeZone: "x",
		JobExecutorServiceHandlerType: "x", JobErrorHandlerType: "x", TimeoutSeconds: -1, MaxRetries: -1,
		RetryBackoffSeconds: -1, KillGraceSeconds: -1, Env: document.Texts{"-": {Value: ""}},
	}
	bad, _ := c.Check(options())
	var fields []string
	for _, v := range bad {
		fields = append(fields, v.Field)
	}
	want := []string{
		"jobName", "appName", "jobExecutionType", "timeZone", "cron", "shardingTotalCount", "shardingItemParameters",
		"cpuCount", "memoryMB", "props.script.command.line", "jobExecutorServiceHandlerType", "jobErrorHandlerType",
		"timeoutSeconds", "maxRetries",
		"retryBackoffSeconds", "killGraceSeconds", "env.-",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

func TestShardingParameters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want map[int]string
	}{
		{"", map[int]string{}},
		{"0=a,1=b,2=c", map[int]string{0: "a", 1: "b", 2: "c"}},
		{" 2 = c ,\t0=a b", map[int]string{0: "a b", 2: "c"}},
		{"1=北京", map[int]string{1: "北京"}},
	}
	for _, test := range tests {
		c := stored()
		c.ShardingItemParameters = test.text
		got, bad := jobs.ShardingParameters(c)
		if diff := cmp.Diff(test.want, got); len(bad) > 0 || diff != "" {
			t.Errorf("%q: %v\n%s", test.text, bad, diff)
		}
	}
}

// TestShardingParametersRefused checks which parameters are refused [D27], and that the messages are the original's if
// the original refuses them too.
func TestShardingParametersRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"a", []string{"Sharding item parameters 'a' format error, should be int=xx,int=xx"}},
		{"0=a,", []string{"Sharding item parameters '0=a,' format error, should be int=xx,int=xx"}},
		{"0=a=b", []string{"Sharding item parameters '0=a=b' format error, should be int=xx,int=xx"}},
		{"0=", []string{"Sharding item parameters '0=' format error, should be int=xx,int=xx"}},
		{"x=a", []string{"Sharding item parameters key 'x' is not an integer."}},
		{"1.0=a", []string{"Sharding item parameters key '1.0' is not an integer."}},
		{"3=a", []string{"shard 3 does not exist: shardingTotalCount is 3, and shards are numbered from 0"}},
		{"0=a,00=b", []string{"shard 0 is given more than once"}},
		{"-1=a,x=b,1=c,1=d", []string{
			"shard -1 does not exist: shardingTotalCount is 3, and shards are numbered from 0",
			"Sharding item parameters key 'x' is not an integer.",
			"shard 1 is given more than once",
		}},
	}
	for _, test := range tests {
		c := stored()
		c.ShardingItemParameters = test.text
		_, bad := jobs.ShardingParameters(c)
		var messages []string
		for _, v := range bad {
			messages = append(messages, v.Message)
		}
		if diff := cmp.Diff(test.want, messages); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}

// TestShardingParametersBounded checks that the violations of many wrong parameters stay short.
func TestShardingParametersBounded(t *testing.T) {
	t.Parallel()
	c := stored()
	c.ShardingItemParameters = "9=x"
	for i := range 5000 {
		c.ShardingItemParameters += ",9" + strconv.Itoa(i) + "=x"
	}
	_, bad := jobs.ShardingParameters(c)
	if len(bad) != 20 || len(bad.Error()) > 5000 {
		t.Errorf("%d violations, %d bytes", len(bad), len(bad.Error()))
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, cron, zone string
		local            *time.Location
		want             time.Time
	}{
		{"the quick start's seven fields", "0/5 * * * * * ?", "", time.UTC, noon.Add(5 * time.Second)},
		{"UTC without any zone", "0 0 13 * * ?", "", nil, noon.Add(time.Hour)},
		{"the server's zone", "0 0 23 * * ?", "", tokyo, noon.Add(2 * time.Hour)},
		{"the job's own zone [D25]", "0 0 20 * * ?", "America/Sao_Paulo", tokyo, noon.Add(11 * time.Hour)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := stored()
			c.Cron, c.TimeZone = test.cron, test.zone
			schedule, err := jobs.Schedule(c, test.local)
			if err != nil {
				t.Fatal(err)
			}
			if got := schedule.Next(noon); !got.Equal(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	c := stored()
	c.Cron = ""
	if schedule, err := jobs.Schedule(c, nil); schedule != nil || err != nil {
		t.Errorf("without cron: got %v, %v", schedule, err)
	}
}
