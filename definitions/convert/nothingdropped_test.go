package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
)

// everything returns all texts of a result that the user gets.
func everything(t *testing.T, r *convert.Result, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	text, err := definitions.Encode(r.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	out := string(text)
	for _, remark := range r.Remarks {
		out += remark.String() + "\n"
	}
	return out
}

// TestNothingIsDropped converts each known setting of each format, and unknown ones, with a unique value. It checks
// that the value or the name of the setting is in the definitions or the remarks.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	const value = "zz9"
	columns := []string{"id", "job_group", "job_desc", "add_time", "update_time", "author", "alarm_email",
		"schedule_type",
		"schedule_conf", "misfire_strategy", "executor_route_strategy", "executor_handler", "executor_param",
		"executor_block_strategy", "executor_timeout", "executor_fail_retry_count", "glue_type", "glue_source",
		"glue_remark", "glue_updatetime", "child_jobid", "trigger_status", "trigger_last_time", "trigger_next_time",
		"job_cron", "schedule_timezone", "tenant_id", "zone_id", "name", "child_jobkey", "a"}
	settings := []string{"jobName", "cron", "timeZone", "shardingTotalCount", "shardingItemParameters", "jobParameter",
		"monitorExecution", "failover", "misfire", "maxTimeDiffSeconds", "reconcileIntervalMinutes",
		"jobShardingStrategyType", "jobExecutorServiceHandlerType", "jobExecutorThreadPoolSizeProviderType",
		"jobErrorHandlerType", "jobListenerTypes", "jobExtraConfigurations", "description", "props", "props.a", "disabled",
		"overwrite", "label", "staticSharding", "elasticJobType", "elasticJobClass", "jobBootstrapBeanName", "jobClass",
		"jobType", "jobExceptionHandler", "monitorPort", "jobShardingStrategyClass", "streamingProcess",
		"scriptCommandLine", "jobProperties.a", "a", "aB.c"}
	forms := map[string]struct {
		names   []string
		convert func(name string) (*convert.Result, error)
	}{
		"SQL": {columns, func(name string) (*convert.Result, error) {
			names, values := []string{name}, []string{"'" + value + "'"}
			for _, required := range []string{"id", "executor_handler", "trigger_status"} {
				if required != name {
					names, values = append(names, required), append(values, "'1'")
				}
			}
			return convert.XXLJob("x", fmt.Appendf(nil, "INSERT INTO xxl_job_info (%s) VALUES (%s);",
				strings.Join(names, ","), strings.Join(values, ",")), convert.Options{Now: now})
		}},
		"JSON": {columns, func(name string) (*convert.Result, error) {
			all := map[string]string{"id": "1", "executor_handler": "h", "trigger_status": "1", name: value}
			var fields []string
			for key, value := range all {
				fields = append(fields, fmt.Sprintf("%q: %q", key, value))
			}
			return convert.XXLJob("x", []byte(`{"data":[{`+strings.Join(fields, ",")+`}]}`), convert.Options{Now: now})
		}},
		"Spring's YAML": {settings, func(name string) (*convert.Result, error) {
			return convert.Lite("x", []byte("elasticjob:\n  jobs:\n    j:\n      "+name+": "+value+"\n      b: c\n"),
				convert.Options{Now: now})
		}},
		"properties": {settings, func(name string) (*convert.Result, error) {
			return convert.Lite("x", []byte("elasticjob.jobs.j."+name+"="+value+"\n"), convert.Options{Now: now})
		}},
		"ZooKeeper": {settings[1:], func(name string) (*convert.Result, error) {
			return convert.Lite("x", []byte("jobName: j\n"+name+": "+value+"\n"), convert.Options{Now: now})
		}},
		"XML": {settings, func(name string) (*convert.Result, error) {
			return convert.Lite("x", fmt.Appendf(nil,
				`<e:job xmlns:e="http://shardingsphere.apache.org/schema/elasticjob" id="j" %s="%s"/>`,
				name, value), convert.Options{Now: now})
		}},
		"XML elements": {settings, func(name string) (*convert.Result, error) {
			return convert.Lite("x", fmt.Appendf(nil,
				`<e:job xmlns:e="http://shardingsphere.apache.org/schema/elasticjob" id="j"><e:%s>%s</e:%s></e:job>`,
				name, value, name), convert.Options{Now: now})
		}},
		"Spring's other keys": {[]string{"a", "a.b", "elasticjob.a", "elasticjob.tracing.a", "elasticjob.regCenter.a"}, func(name string) (*convert.Result, error) {
			return convert.Lite("x", []byte("elasticjob.jobs.j.cron=\n"+name+"="+value+"\n"), convert.Options{Now: now})
		}},
	}
	for form, test := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			for _, name := range test.names {
				result, err := test.convert(name)
				shown := everything(t, result, err)
				parent := name[:max(strings.LastIndex(name, "."), 0)]
				if !strings.Contains(shown, value) && !strings.Contains(shown, name) &&
					(parent == "" || !strings.Contains(shown, parent)) {
					t.Errorf("%s: %s is in none of\n%s", name, value, shown)
				}
			}
		})
	}
}

// TestEachEntryOfACrontabCounts checks that each line of a crontab, except comments and blank lines, results in a job,
// a variable or a remark.
func TestEachEntryOfACrontabCounts(t *testing.T) {
	t.Parallel()
	lines := []string{"0 3 * * * /bin/a", "@daily /bin/b", "@never /bin/c", "61 * * * * /bin/d", "* * * *",
		"a b c d e f",
		"~ * * * * /bin/e", "#0 3 * * * /bin/f", "MAILTO=x", "RANDOM_DELAY=5", "A=b", "@reboot /bin/g", "0 3 * * * *",
		"@every /bin/h", "&bootrun 0 * * * * /bin/i", "%daily * 3 /bin/j"}
	for _, line := range lines {
		result := crontab(t, line+"\n0 0 * * * /bin/z\n", convert.Options{})
		covered := slices.ContainsFunc(result.Remarks, func(r convert.Remark) bool { return r.At.Line == 1 }) ||
			len(result.Definitions) == 2 || result.Definitions[0].Job.Env != nil
		if !covered {
			t.Errorf("%s: there is no result", line)
		}
	}
}
