package api_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// The routes of the original's statistics answer in its form and read the right periods. Where nothing was counted,
// the answer invents nothing [D97].
func TestStatistics(t *testing.T) {
	t.Parallel()
	now := noon.Add(90*time.Minute + 30*time.Second + 250*time.Millisecond) // 13:30:30.25
	midnight := noon.Add(-12 * time.Hour)
	h := &fakeHistory{}
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b, History: h, Now: func() time.Time { return now }})
	call(t, server, "POST", "/api/app", appDocument)
	call(t, server, "POST", "/api/job/register", jobDocument)
	call(t, server, "POST", "/api/job/register", swap(swap(jobDocument, "my_job", "other"), "TRANSIENT", "DAEMON"))
	call(t, server, "POST", "/api/job/register", swap(swap(jobDocument, "my_job", "third"), "TRANSIENT", "DAEMON"))
	some := []search.TaskResults{{ID: 7, SuccessCount: 3, FailedCount: 1, Interval: search.Minute,
		StatisticsTime: at(noon), CreationTime: at(noon)},
		{ID: 9, SuccessCount: 4, Interval: search.Minute, StatisticsTime: at(noon.Add(2 * time.Minute)),
			CreationTime: at(noon)}}
	none := time.Time{}
	rate := 0.75
	h.statistics = search.JobStatistics{JobName: "my_job", Of: "EXECUTIONS", Since: at(noon), Finished: 3, Failed: 1,
		SuccessRate: &rate, DurationMillis: &search.Durations{P50: 10, P95: 20},
		LastFailure: &search.LastFailure{ExecutionID: "exec-0", FireTime: at(noon), CompleteTime: at(noon),
			Reason: "shard 1 failed"}}
	const path = "/api/job/statistics/"
	for _, c := range []struct {
		path    string
		results []search.TaskResults
		asked   any
		want    string
	}{
		{path + "tasks/results?since=last24hours", some, []any{search.Minute, now.Add(-24 * time.Hour), none},
			`[{"id":7,"successCount":3,"failedCount":1,"statisticInterval":"MINUTE","statisticsTime":"2026-05-01T12:00:00Z","creationTime":"2026-05-01T12:00:00Z"},{"id":9,"successCount":4,"failedCount":0,"statisticInterval":"MINUTE","statisticsTime":"2026-05-01T12:02:00Z","creationTime":"2026-05-01T12:00:00Z"}]`},
		{path + "tasks/results/online", some, []any{search.Day, none, none}, `{"id":0,"successCount":7,"failedCount":1,"statisticInterval":"DAY","statisticsTime":"2026-05-01T12:00:00Z","creationTime":"2026-05-01T13:30:30.25Z"}`},
		{path + "tasks/results/online", nil, []any{search.Day, none, none}, `{"id":0,"successCount":0,"failedCount":0,"statisticInterval":"DAY","statisticsTime":null,"creationTime":"2026-05-01T13:30:30.25Z"}`},
		{path + "tasks/results/lastWeek", some, []any{search.Day, midnight.Add(-7 * 24 * time.Hour), none}, `{"id":0,"successCount":7,"failedCount":1,"statisticInterval":"DAY","statisticsTime":"2026-04-24T00:00:00Z","creationTime":"2026-05-01T13:30:30.25Z"}`},
		{path + "tasks/results/lastHour", some[:1], []any{search.Hour, noon, noon.Add(time.Hour)}, `{"id":0,"successCount":3,"failedCount":1,"statisticInterval":"HOUR","statisticsTime":"2026-05-01T12:00:00Z","creationTime":"2026-05-01T13:30:30.25Z"}`},
		{path + "tasks/results/lastMinute", nil, []any{search.Minute, noon.Add(89 * time.Minute), noon.Add(90 * time.Minute)}, `{"id":0,"successCount":0,"failedCount":0,"statisticInterval":"MINUTE","statisticsTime":"2026-05-01T13:29:00Z","creationTime":"2026-05-01T13:30:30.25Z"}`},
		{path + "tasks/running?since=lastWeek", nil, midnight.Add(-7 * 24 * time.Hour), `[{"id":4,"runningCount":7,"statisticsTime":"2026-05-01T12:00:00Z","creationTime":"2026-05-01T12:00:00Z"}]`},
		{path + "jobs/running", nil, midnight.Add(-7 * 24 * time.Hour), `[]`},
		{path + "jobs/register", nil, nil, `[{"id":1,"registeredCount":5,"statisticsTime":"2026-05-01T12:00:00Z","creationTime":"2026-05-01T12:00:00Z"}]`},
		{path + "jobs/executionType", nil, nil, `{"transientJobCount":1,"daemonJobCount":2}`},
		{"/api/job/my_job/statistics?since=24h", nil, []any{"my_job", now.Add(-24 * time.Hour)},
			`{"jobName":"my_job","of":"EXECUTIONS","since":"2026-05-01T12:00:00Z","finished":3,"failed":1,"killed":0,"successRate":0.75,"durationMillis":{"p50":10,"p95":20},"lastFailure":{"executionId":"exec-0","fireTime":"2026-05-01T12:00:00Z","completeTime":"2026-05-01T12:00:00Z","reason":"shard 1 failed"}}`},
	} {
		h.results, h.asked = c.results, nil
		answer, got := call(t, server, "GET", c.path, "")
		if answer.StatusCode != http.StatusOK || got != c.want+"\n" {
			t.Errorf("%s\n got %d %s\nwant %s", c.path, answer.StatusCode, got, c.want)
		}
		if len(h.asked) > 0 && !reflect.DeepEqual(h.asked[0], c.asked) {
			t.Errorf("%s asks for %v, not %v", c.path, h.asked[0], c.asked)
		}
	}
	for bad, status := range map[string]int{
		path + "tasks/results?since=lastWeek": 400, path + "tasks/running?since=last24hours": 400,
		path + "tasks/results/lastYear": 404, path + "tasks/results/online?since=x": 400,
		path + "jobs/register?x=1": 400, "/api/job/my_job/statistics?since=x": 400, path + "jobs/type": 404,
		"/api/job/a%20b/statistics": 404,
	} {
		if answer, text := call(t, server, "GET", bad, ""); answer.StatusCode != status {
			t.Errorf("%s: %d %s", bad, answer.StatusCode, text)
		}
	}
	h.statistics = search.JobStatistics{JobName: "none"}
	if answer, text := call(t, server, "GET", "/api/job/none/statistics", ""); readError(t, answer,
		text).Error.Code != "job_not_found" {
		t.Error(text)
	}
}

// A follower with the database answers from it, even if there is no leader.
func TestAFollowerReadsTheHistory(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.health.Leading = false
	server := start(t, api.Options{Scheduler: b, History: &fakeHistory{}})
	for path, status := range map[string]int{"/api/job/events/executions": 200,
		"/api/job/statistics/tasks/results/online": 200, "/api/job/my_job/statistics": 503} {
		if answer, text := call(t, server, "GET", path, ""); answer.StatusCode != status {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}
