package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// showsAgent compares the view of an agent, and of its executors, with JSON. The ids of the framework and of tasks are
// random.
func (s *stage) showsAgent(when, id, want, executors string) {
	s.t.Helper()
	if broken := s.contradiction(); broken != "" {
		s.t.Fatalf("%s: %s", when, broken)
	}
	v, err := s.core.views.Agent(id)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range []struct {
		got  any
		want string
	}{{v.AgentView, want}, {v.Executors, executors}} {
		if got, _ := json.Marshal(c.got); string(got) != c.want {
			s.t.Errorf("%s:\n got %s\nwant %s", when, got, c.want)
		}
	}
	all := s.core.views.Cluster([]string{id, "another"})
	if got, _ := json.Marshal(all.Agents); len(all.Agents) != 1 || string(got) != "["+want+"]" {
		s.t.Errorf("%s: in the list it is %s", when, got)
	}
	if got, _ := json.Marshal(all.Executors); string(got) != executors {
		s.t.Errorf("%s: in the list its executors are %s", when, got)
	}
}

// Unknown properties of an agent are null; its use is that of executors and tasks; its state is what the master
// reported last.
func TestAnAgentIsShownAsItIsKnown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.Failover = 2, true })
	s.trigger()
	s.offer("S1", 8, 8000)
	const use = `"cpus":{"total":%s,"used":2.5,"free":null},"memoryMB":{"total":%s,"used":256,"free":null},"tasks":2,"offer":null,"note":""}`
	const executor = `[{"id":"my_app@-@S1@-@1","app":"my_app","agent":"S1","generation":1,"state":"%s","tasks":2,"cpus":0.5,"memoryMB":128,"tasksCpus":2,"tasksMemoryMB":128,"since":%s,"lastReport":%s,"lastHeartbeat":null,"note":""}]`
	known := fmt.Sprintf(use, "8", "8000")
	s.showsAgent("launched", "S1", `{"id":"S1","hostname":"S1","state":"REGISTERED","since":"2026-11-21T08:00:00Z",`+
		known,
		fmt.Sprintf(executor, "STARTING", `"2026-11-21T08:00:00Z"`, "null"))
	launches := s.answerAccepts()
	s.reportRunning(launches)
	report := &wire.Report{Time: s.now}
	s.stepAfter(time.Second, s.clusterEvent(cluster.Message{AgentID: "S1", ExecutorID: launches[0].Executor.ID,
		Report: report}))
	s.showsAgent("runs", "S1", `{"id":"S1","hostname":"S1","state":"REGISTERED","since":"2026-11-21T08:00:00Z",`+known,
		fmt.Sprintf(executor, "RUNNING", `"2026-11-21T08:00:00Z"`, `"2026-11-21T08:00:01Z"`))
	s.reportUnreachable(launches[0])
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"}))
	s.showsAgent("a partition", "S1",
		`{"id":"S1","hostname":"S1","state":"UNREACHABLE","since":"2026-11-21T08:00:01Z",`+known,
		fmt.Sprintf(executor, "RUNNING", `"2026-11-21T08:00:00Z"`, `"2026-11-21T08:00:01Z"`))
	s.update(launches[0], cluster.Running, func(u *cluster.Update) { u.UUID = []byte("again") })
	s.showsAgent("it is back", "S1", `{"id":"S1","hostname":"S1","state":"REGISTERED","since":"2026-11-21T08:00:01Z",`+
		known,
		fmt.Sprintf(executor, "RUNNING", `"2026-11-21T08:00:00Z"`, `"2026-11-21T08:00:01Z"`))
	s.stepAfter(time.Second, s.clusterEvent(cluster.Failure{AgentID: "S1"}))
	s.showsAgent("it was removed", "S1",
		`{"id":"S1","hostname":"S1","state":"AWAY","since":"2026-11-21T08:00:02Z",`+known,
		fmt.Sprintf(executor, "RUNNING", `"2026-11-21T08:00:00Z"`, `"2026-11-21T08:00:01Z"`))

	s.restart()
	s.showsAgent("a new leader", "S1", `{"id":"S1","hostname":"S1","state":null,"since":null,`+fmt.Sprintf(use, "null",
		"null"), fmt.Sprintf(executor, "RUNNING", "null", "null"))
	if _, err := s.core.views.Agent("S2"); problem.Of(err).Kind != problem.NotFound {
		t.Errorf("an agent that was never seen: %v", err)
	}
}

// Held offers are shown as free; no other free resources are known.
func TestWhatIsHeldOfAnAgentIsShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, everyFiveSeconds)
	s.runFor(4900 * time.Millisecond) // a fire is due: offers are held for it
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{
		{ID: "O1", AgentID: "S1", Hostname: "h1", Resources: resources.New(8, 8000), Unavailable: s.now.Add(2 * time.Hour)},
		{ID: "O2", AgentID: "S2", Hostname: "h0", Resources: resources.New(4, 4000), Unavailable: s.now.Add(time.Minute), AvailableAgain: s.now.Add(time.Hour)},
	}}))
	const none = `,"tasks":0,"offer":null,"note":""}`
	s.showsAgent("in maintenance soon", "S2",
		`{"id":"S2","hostname":"h0","state":"DRAINING","since":null,"maintenance":{"from":"2026-11-21T08:01:04.9Z","until":"2026-11-21T09:00:04.9Z"},`+
			`"cpus":{"total":4,"used":0,"free":null},"memoryMB":{"total":4000,"used":0,"free":null}`+none, `[]`)
	s.showsAgent("in maintenance later", "S1",
		`{"id":"S1","hostname":"h1","state":"REGISTERED","since":"2026-11-21T08:00:04.9Z","maintenance":{"from":"2026-11-21T10:00:04.9Z","until":null},`+
			`"cpus":{"total":8,"used":0,"free":8},"memoryMB":{"total":8000,"used":0,"free":8000},"tasks":0,"offer":{"cpus":8,"memoryMB":8000,"since":"2026-11-21T08:00:04.9Z"},"note":""}`, `[]`)

	v := s.core.views.Cluster(nil)
	if got, _ := json.Marshal([]any{v.Subscribed, v.Since, v.Master, v.CPUs, v.MemoryMB, v.OffersHeld,
		v.StartFailures}); string(got) !=
		`[true,"2026-11-21T08:00:00Z","master-1",{"total":12,"used":0,"free":8},{"total":12000,"used":0,"free":8000},1,[]]` {
		t.Errorf("the whole: %s", got)
	}
	for _, c := range []struct {
		filter views.ClusterFilter
		want   string
		total  int
	}{
		{views.ClusterFilter{Page: 1, PerPage: 1}, "S2", 2}, // by host name
		{views.ClusterFilter{Page: 2, PerPage: 1}, "S1", 2},
		{views.ClusterFilter{Page: 1, PerPage: 9}, "S2 S1", 2},
		{views.ClusterFilter{Page: 3, PerPage: 1}, "", 2},
		{views.ClusterFilter{Search: "H1", Page: 1, PerPage: 9}, "S1", 1},
		{views.ClusterFilter{Search: "h2", Page: 1, PerPage: 9}, "", 0},
	} {
		if ids, total := c.filter.Of(s.core.views.AgentNames()); strings.Join(ids, " ") != c.want || total != c.total {
			t.Errorf("%+v: %s of %d", c.filter, ids, total)
		}
	}
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S2"}))
	if v, f := s.core.views.Cluster(nil), s.core.views.Facts().Agents; *v.CPUs.Total != 8 || f.Capacity.CPUs() != 8 ||
		f.Total != 1 || f.Unreachable != 0 {
		t.Errorf("without the agent that went away: %v CPUs, the overview says %+v", *v.CPUs.Total, f)
	}
	s.unsubscribe()
	if v := s.core.views.Cluster(nil); v.Subscribed || v.Since != nil || v.Master != nil || v.FrameworkID == "" ||
		v.OffersHeld != 0 {
		t.Errorf("without a session: %+v", v)
	}
}

// The tasks of an agent have the states that the cluster reports.
func TestTheTasksOfAnAgentAreShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 5 })
	id, launches := s.launch()
	s.offer("S2", 1, 100)
	s.update(launches[1], cluster.Starting)
	s.reportRunning(launches[2:])
	s.step(Request{Token: 1, Event: operator.KillRequested{TaskID: launches[3].TaskID}})
	s.reportUnreachable(launches[4])
	v, err := s.core.views.Agent("S1")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i, r := range v.Running {
		if r.ExecutionID != id || r.JobName != "my_job" || r.TaskID != launches[i].TaskID || !r.Since.Equal(s.now) {
			t.Errorf("%+v", r)
		}
		got += fmt.Sprintf("%d %s, ", r.Item, r.State)
	}
	if want := "0 STAGING, 1 STARTING, 2 RUNNING, 3 KILLING, 4 UNREACHABLE, "; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if v, err := s.core.views.Agent("S2"); err != nil || len(v.Running) != 0 || v.Running == nil {
		t.Errorf("%+v, %v", v, err)
	}
}

// A start failure that keeps an app off an agent is shown with its time, its reason, and its end.
func TestStartFailuresAreShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.trigger()
	s.offer("S1", 8, 8192)
	s.update(s.answerAccepts()[0], cluster.Failed, fromAgent(cluster.ReasonContainerLaunchFailed),
		func(u *cluster.Update) { u.Message = "no such file" })
	a := app.Default()
	a.AppName, a.AppURL = "my_app", "http://127.0.0.1/p.tar"
	s.core.startFailures.RecordUnreachable(a, "my_job@1", s.now, reason.HostSilent("h:80"))
	for when, list := range map[string]func() ([]views.StartFailureView, int){
		"of all": func() ([]views.StartFailureView, int) {
			v := s.core.views.Cluster(nil)
			return v.StartFailures, v.StartFailuresTotal
		},
		"of an agent": func() ([]views.StartFailureView, int) {
			v, _ := s.core.views.Agent("S1")
			return v.StartFailures, len(v.StartFailures)
		},
	} {
		want := `[{"app":"my_app","agent":"S1","hostname":"S1","host":"","failures":1,"notBefore":"2026-11-21T08:00:01Z","cause":"FAILED (CONTAINER_LAUNCH_FAILED): no such file","causeCode":"cluster_reported","causeArgs":{"message":"no such file","reason":"CONTAINER_LAUNCH_FAILED","state":"FAILED"}}]`
		if when == "of all" {
			want = `[{"app":"my_app","agent":"","hostname":"","host":"127.0.0.1:80","failures":1,"notBefore":"2026-11-21T08:00:01Z","cause":"h:80 did not answer","causeCode":"host_silent","causeArgs":{"host":"h:80"}},` + want[1:]
		}
		shown, total := list()
		if got, _ := json.Marshal(shown); string(got) != want || total != len(shown) {
			t.Errorf("%s: %d\n got %s\nwant %s", when, total, got, want)
		}
	}
}
