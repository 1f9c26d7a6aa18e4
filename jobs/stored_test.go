package jobs

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

func TestDecodeStoredJobsOfTheOriginal(t *testing.T) {
	t.Parallel()
	common := Default()
	common.JobName, common.AppName, common.JobExecutionType, common.Cron = "test_job", "test_app", Transient,
		"0/30 * * * * ?"
	common.ShardingTotalCount, common.CPUCount, common.MemoryMB, common.Failover, common.Misfire = 10, 1, 128, true,
		true
	script := Default()
	script.JobName, script.AppName, script.JobExecutionType, script.Cron = "nightly.report-2", "scripts", Transient,
		"* * * * * ?"
	script.ShardingTotalCount, script.CPUCount, script.MemoryMB, script.ShardingItemParameters = 3, 0.001, 64,
		"0=Beijing,1=上海,2=no"
	script.JobParameter = "first line\n  second, indented\n\nit's the last"
	script.Description = "a job whose description is so long that the original folds the line at eighty columns, where the next one begins with two spaces"
	script.JobErrorHandlerType, script.JobExecutorServiceHandlerType = "EMAIL", "SINGLE_THREAD"
	script.Props = document.Texts{"email.password": {Value: "0123"},
		PropScript: {Value: `python3 bin/report.py --day "yesterday" it''s`}, "streaming.process": {Value: "true"}}
	old := common
	old.JobName = "test_script_job"
	for _, c := range []struct {
		file  string
		want  Config
		notes []string
	}{
		{"job-3.0.1.yaml", common, []string{"monitorExecution", "reconcileIntervalMinutes"}},
		{"script-3.0.1.yaml", script, nil},
		{"job-2.1.5.json", old, []string{"jobType", "jobProperties", "scriptCommandLine"}},
	} {
		doc, err := os.ReadFile("testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		got, notes, err := Schema.DecodeStored(doc)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.file, diff)
		}
		for i := range notes {
			notes[i], _, _ = strings.Cut(notes[i], " ")
		}
		if diff := cmp.Diff(c.notes, notes); diff != "" {
			t.Errorf("%s: notes: -want +got\n%s", c.file, diff)
		}
		if bad, _ := got.Check(CheckOptions{Now: time.Date(2026, 11, 21, 8, 0, 0, 0,
			time.UTC)}); c.file != "script-3.0.1.yaml" && len(bad) > 0 {
			t.Errorf("%s: %v", c.file, bad)
		}
		// The reverse direction: the written document differs only in empty fields.
		back, _, err := Schema.DecodeStored(Schema.EncodeYAML(got))
		if err != nil || !cmp.Equal(back, got) {
			t.Errorf("%s: written as\n%s\nit is read as %+v, %v", c.file, Schema.EncodeYAML(got), back, err)
		}
	}
	const written = "appName: test_app\ncpuCount: 1.0\ncron: 0/30 * * * * ?\ndescription: ''\nfailover: true\njobExecutionType: TRANSIENT\njobName: test_job\njobParameter: ''\nmemoryMB: 128.0\nmisfire: true\nshardingItemParameters: ''\nshardingTotalCount: 10\n"
	if got := string(Schema.EncodeYAML(common)); got != written {
		t.Errorf("written as\n%s", got)
	}
}
