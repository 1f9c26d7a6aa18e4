package api_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/auth"
)

// An update may leave stored parameters unchanged even if a registration would refuse them. If it changes them, they
// must be valid.
func TestUpdateOfAJobThatWasReadLeniently(t *testing.T) {
	t.Parallel()
	b, ask := appsOfTwo(t, nil)
	view := b.jobs["mine_job"]
	view.Config.JobExecutionType, view.Config.ShardingTotalCount = "TRANSIENT", 2
	view.Config.CPUCount, view.Config.MemoryMB = 1, 1
	view.Config.ShardingItemParameters = "0=a=b,9=c,"
	b.jobs["mine_job"] = view
	const whole = `"appName":"mine-1","jobExecutionType":"TRANSIENT","shardingTotalCount":2,"cpuCount":1,"memoryMB":1,`
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/api/job/update", `{"jobName":"mine_job","description":"x"}`, 200},
		{"PUT", "/api/job/update", `{"jobName":"mine_job",` + whole + `"shardingItemParameters":"0=a=b,9=c,"}`, 200},
		{"POST", "/api/job/check?update=true", `{"jobName":"mine_job","description":"y"}`, 200},
		{"PUT", "/api/job/update", `{"jobName":"mine_job","shardingItemParameters":"0=a=c"}`, 422},
		{"POST", "/api/job/register", `{"jobName":"new",` + whole + `"shardingItemParameters":"0=a=b"}`, 422},
	} {
		status, text := ask(c.method, c.path, c.body, auth.Admin)
		if status != c.status || status == 422 && !strings.Contains(text, "shardingItemParameters") {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, text)
		}
	}
	if got := b.jobs["mine_job"].Config; got.Description != "x" || got.ShardingItemParameters != "0=a=b,9=c," {
		t.Errorf("%+v", got)
	}
}
