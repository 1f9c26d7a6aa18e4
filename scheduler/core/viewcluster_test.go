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

// expectAgent checks the views of an agent and of its executors, as JSON, on the agent's page and in the list of
// agents.
func (s *stage) expectAgent(when, id, want, executors string) {
	s.t.Helper()
	if bad := s.contradiction(); bad != "" {
		s.t.Fatalf("%s: %s", when, bad)
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
	list := s.core.views.Cluster([]string{id, "an unknown agent"})
	if got, _ := json.Marshal(list.Agents); len(list.Agents) != 1 || string(got) != "["+want+"]" {
		s.t.Errorf("%s: in the list the agent is %s", when, got)
	}
	if got, _ := json.Marshal(list.Executors); string(got) != executors {
		s.t.Errorf("%s: in the list its executors are %s", when, got)
	}
}

// TestAnAgentIsShownAsItIsKnown checks how an agent is shown while a job runs there, and while it is away and back.
// What is not known is null. The used resources are those of its executors and tasks, and its state is what the master
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
	agent := func(state, since string) string {
		return `{"id":"S1","hostname":"S1","state":"` + state + `","since":"` + since + `",` +
			fmt.Sprintf(use, "8", "8000")
	}
	running := fmt.Sprintf(executor, "RUNNING", `"2026-11-21T08:00:00Z"`, `"2026-11-21T08:00:01Z"`)
	s.expectAgent("launched", "S1", agent("REGISTERED", "2026-11-21T08:00:00Z"),
		fmt.Sprintf(executor, "STARTING", `"2026-11-21T08:00:00Z"`, "null"))
	launches := s.answerAccepts()
	s.reportRunning(launches)
	report := cluster.Message{AgentID: "S1", ExecutorID: launches[0].Executor.ID, Report: &wire.Report{Time: s.now}}
	s.stepAfter(time.Second, s.clusterEvent(report))
	s.expectAgent("running", "S1", agent("REGISTERED", "2026-11-21T08:00:00Z"), running)
	s.reportUnreachable(launches[0])
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"}))
	s.expectAgent("unreachable", "S1", agent("UNREACHABLE", "2026-11-21T08:00:01Z"), running)
	s.update(launches[0], cluster.Running, func(u *cluster.Update) { u.UUID = []byte("again") })
	s.expectAgent("back", "S1", agent("REGISTERED", "2026-11-21T08:00:01Z"), running)
	s.stepAfter(time.Second, s.clusterEvent(cluster.Failure{AgentID: "S1"}))
	s.expectAgent("removed", "S1", agent("AWAY", "2026-11-21T08:00:02Z"), running)

	s.restart()
	s.expectAgent("under a new leader", "S1",
		`{"id":"S1","hostname":"S1","state":null,"since":null,`+fmt.Sprintf(use, "null", "null"),
		fmt.Sprintf(executor, "RUNNING", "null", "null"))
	if _, err := s.core.views.Agent("S2"); problem.Of(err).Kind != problem.NotFound {
		t.Errorf("the error for an unknown agent is %v", err)
	}
}

// TestTheHeldOffersOfAnAgentAreShown checks that the free resources of an agent are those of its held offers. It also
// checks the totals of the cluster, and the pages of the list of agents.
func TestTheHeldOffersOfAnAgentAreShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, everyFiveSeconds)
	s.runFor(4900 * time.Millisecond) // offers are held for the fire in 100 ms
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{
		{ID: "O1", AgentID: "S1", Hostname: "h1", Resources: resources.New(8, 8000), Unavailable: s.now.Add(2 * time.Hour)},
		{ID: "O2", AgentID: "S2", Hostname: "h0", Resources: resources.New(4, 4000), Unavailable: s.now.Add(time.Minute), AvailableAgain: s.now.Add(time.Hour)},
	}}))
	const none = `,"tasks":0,"offer":null,"note":""}`
	s.expectAgent("in maintenance soon", "S2",
		`{"id":"S2","hostname":"h0","state":"DRAINING","since":null,"maintenance":{"from":"2026-11-21T08:01:04.9Z","until":"2026-11-21T09:00:04.9Z"},`+
			`"cpus":{"total":4,"used":0,"free":null},"memoryMB":{"total":4000,"used":0,"free":null}`+none, `[]`)
	s.expectAgent("in maintenance later", "S1",
		`{"id":"S1","hostname":"h1","state":"REGISTERED","since":"2026-11-21T08:00:04.9Z","maintenance":{"from":"2026-11-21T10:00:04.9Z","until":null},`+
			`"cpus":{"total":8,"used":0,"free":8},"memoryMB":{"total":8000,"used":0,"free":8000},"tasks":0,"offer":{"cpus":8,"memoryMB":8000,"since":"2026-11-21T08:00:04.9Z"},"note":""}`, `[]`)

	v := s.core.views.Cluster(nil)
	if got, _ := json.Marshal([]any{v.Subscribed, v.Since, v.Master, v.CPUs, v.MemoryMB, v.OffersHeld,
		v.StartFailures}); string(got) !=
		`[true,"2026-11-21T08:00:00Z","master-1",{"total":12,"used":0,"free":8},{"total":12000,"used":0,"free":8000},1,[]]` {
		t.Errorf("the cluster is shown as %s", got)
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
			t.Errorf("%+v: got %s of %d, want %s of %d", c.filter, ids, total, c.want, c.total)
		}
	}
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S2"}))
	if v, f := s.core.views.Cluster(nil), s.core.views.Facts().Agents; *v.CPUs.Total != 8 || f.Capacity.CPUs() != 8 ||
		f.Total != 1 || f.Unreachable != 0 {
		t.Errorf("without the removed agent there are %v CPUs, and the overview shows %+v", *v.CPUs.Total, f)
	}
	s.unsubscribe()
	if v := s.core.views.Cluster(nil); v.Subscribed || v.Since != nil || v.Master != nil || v.FrameworkID == "" ||
		v.OffersHeld != 0 {
		t.Errorf("without a session the cluster is shown as %+v", v)
	}
}

// TestTheTasksOfAnAgentAreShown checks that the tasks of an agent are shown with the states that the cluster reports.
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
			t.Errorf("task %d is shown as %+v", i, r)
		}
		got += fmt.Sprintf("%d %s, ", r.Item, r.State)
	}
	if want := "0 STAGING, 1 STARTING, 2 RUNNING, 3 KILLING, 4 UNREACHABLE, "; got != want {
		t.Errorf("the states are %s\nwant %s", got, want)
	}
	if v, err := s.core.views.Agent("S2"); err != nil || len(v.Running) != 0 || v.Running == nil {
		t.Errorf("an agent without tasks is shown as %+v, %v", v, err)
	}
}

// TestStartFailuresAreShown checks that the start failures that keep an app off an agent are shown with their number,
// their cause and the time at which they end, for the cluster and for the agent. Those of a host are shown for the
// cluster only.
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
	for of, list := range map[string]func() ([]views.StartFailureView, int){
		"the cluster": func() ([]views.StartFailureView, int) {
			v := s.core.views.Cluster(nil)
			return v.StartFailures, v.StartFailuresTotal
		},
		"an agent": func() ([]views.StartFailureView, int) {
			v, _ := s.core.views.Agent("S1")
			return v.StartFailures, len(v.StartFailures)
		},
	} {
		want := `[{"app":"my_app","agent":"S1","hostname":"S1","host":"","failures":1,"notBefore":"2026-11-21T08:00:01Z","cause":"FAILED (CONTAINER_LAUNCH_FAILED): no such file","causeCode":"cluster_reported","causeArgs":{"message":"no such file","reason":"CONTAINER_LAUNCH_FAILED","state":"FAILED"}}]`
		if of == "the cluster" {
			want = `[{"app":"my_app","agent":"","hostname":"","host":"127.0.0.1:80","failures":1,"notBefore":"2026-11-21T08:00:01Z","cause":"h:80 did not answer","causeCode":"host_silent","causeArgs":{"host":"h:80"}},` + want[1:]
		}
		shown, total := list()
		if got, _ := json.Marshal(shown); string(got) != want || total != len(shown) {
			t.Errorf("%s: %d start failures\n got %s\nwant %s", of, total, got, want)
		}
	}
}
