package core

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// formerFramework is the framework id of the original scheduler.
const formerFramework = "a47cb9d1-5c3b-4b3c-9a1a-1a0b5e0f1a2b-0000"

// TestT8AFormerFrameworkIsTakenOverBeforeAnythingIsLaunched takes over the framework of the original while one of its
// tasks runs. Nothing may be launched until the master has reported all tasks and they have ended.
func TestT8AFormerFrameworkIsTakenOverBeforeAnythingIsLaunched(t *testing.T) {
	t.Parallel()
	const former = "old_job@-@0@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001"
	s := newStage(t)
	s.storeOriginal(map[string]string{"/ha/framework_id": formerFramework, "/state/ready/plain_job": "1"})
	s.restart()
	if s.core.subscription.FrameworkID() != formerFramework {
		t.Fatalf("subscribed as %s", s.core.subscription.FrameworkID())
	}
	reconciles := calls[step.CallReconcile](s.last)
	if len(reconciles) < 3 || len(reconciles[len(reconciles)-2].Tasks) != 0 || len(s.questions()) != 1 {
		t.Fatalf("want an implicit reconciliation, and after it a question: %+v", reconciles)
	}
	first := s.questions()[0]
	s.offer("S1", 8, 8000, "test_app@-@S1")
	if len(s.accepts) > 0 || len(calls[step.CallShutdown](s.last)) > 0 {
		t.Fatal("launched, or shut down an executor with tasks, before the master reported all tasks")
	}
	// The master is silent: the question is repeated, at growing intervals.
	asked := 0
	for range 600 {
		s.stepAfter(time.Second)
		asked += len(s.questions())
		if q := s.questions(); len(q) > 0 {
			first = q[0]
		}
	}
	if asked < 10 || asked > 20 {
		t.Errorf("asked %d times in ten minutes", asked)
	}
	if x := s.explain("plain_job"); len(x.Waiting) != 3 ||
		!strings.Contains(x.Waiting[0].Reason, "has not reported all tasks") {
		t.Errorf("explain shows %+v", x)
	}
	formerTaskIs := func(state cluster.State) Event {
		return s.clusterEvent(cluster.Update{TaskID: former, AgentID: "S1", ExecutorID: "test_app@-@S1", State: state,
			Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation})
	}
	s.step(formerTaskIs(cluster.Running))
	if kills := calls[step.CallKill](s.last); len(kills) != 1 || kills[0].Kill.TaskID != former {
		t.Fatalf("the former task is not killed: %+v", kills)
	}
	if x, _ := s.core.views.Explain("plain_job"); !strings.Contains(x.Waiting[0].Reason, former) {
		t.Errorf("explain does not name the former task: %s", x.Waiting[0].Reason)
	}
	s.answer(first)
	if len(s.questions()) != 1 {
		t.Fatal("the question is not repeated after the first answer, although an agent may have come back meanwhile")
	}
	s.answer(s.questions()[0])
	s.offer("S2", 8, 8000)
	if len(s.accepts) > 0 {
		t.Fatal("launched while the former task runs")
	}
	kills := 0
	for range 60 {
		s.stepAfter(time.Second)
		kills += len(calls[step.CallKill](s.last))
	}
	if kills < 3 {
		t.Errorf("the kill was sent %d times in a minute, want it repeated", kills)
	}
	s.step(formerTaskIs(cluster.Killed))
	if got := string(s.stored[store.PathOurFramework]); got != formerFramework {
		t.Errorf("the framework that this scheduler has taken over is recorded as %q", got)
	}
	s.offer("S1", 8, 8000, "test_app@-@S1")
	if shutdowns := calls[step.CallShutdown](s.last); len(shutdowns) != 1 || shutdowns[0].ExecutorID != "test_app@-@S1" {
		t.Errorf("the executor of the original is not shut down after the takeover: %+v", shutdowns)
	}
	if len(s.accepts) != 1 {
		t.Fatal("nothing was launched after the takeover")
	}
	s.restart()
	if len(s.questions()) > 0 {
		t.Error("the next leader repeats the takeover")
	}
}

// TestT8AFormerTaskThatIsUnreachableIsAbandoned checks that the takeover ends although a task that the original names
// is unreachable. It becomes an orphan, which replaces the entry of the original.
func TestT8AFormerTaskThatIsUnreachableIsAbandoned(t *testing.T) {
	t.Parallel()
	const former = "plain_job@-@1@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001"
	s := newStage(t)
	s.storeOriginal(map[string]string{"/ha/framework_id": formerFramework, "/state/running/plain_job": "",
		"/state/running/plain_job/plain_job@-@1": former, "/state/ready/plain_job": "1"})
	s.restart()
	isReconciled := false
	for _, c := range calls[step.CallReconcile](s.last) {
		isReconciled = isReconciled || slices.Contains(c.Tasks, cluster.TaskRef{TaskID: former, AgentID: "S1"})
	}
	if !isReconciled || s.stored["/state/running/plain_job/plain_job@-@1"] == nil {
		t.Fatal("the master is not asked about a task that the original names, or its entry is removed too early")
	}
	s.step(s.clusterEvent(cluster.Update{TaskID: former, AgentID: "S1", State: cluster.Unreachable,
		Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation, UnreachableSince: s.now.Add(-time.Minute)}))
	s.answer(s.nextQuestion())
	s.runFor(10 * time.Second)
	if s.core.subscription.InTakeover() {
		t.Fatal("the takeover has not ended after the task was unreachable for a minute")
	}
	if !isOrphan(s.core, former) || s.stored["/state/running/plain_job/plain_job@-@1"] != nil ||
		s.stored["/state/running/plain_job"] != nil {
		t.Error("the task is no orphan, or its entry is still stored")
	}
	if s.core.orphans.IsBlocked("plain_job", 1) {
		t.Error("the orphan blocks its shard although its agent has been away for longer than required")
	}
}

// TestTheOriginalsQueuesAreTakenOverOnce checks that the fires and lost shards that waited in the queues of the
// original wait here too, once. Their entries are removed, except those that can't be used.
func TestTheOriginalsQueuesAreTakenOverOnce(t *testing.T) {
	t.Parallel()
	nodes := map[string]string{
		"/state/ready/misfire_job": "3", "/state/ready/plain_job": "2", "/state/ready/disabled_job": "1",
		"/state/ready/nobody": "1", "/state/ready/a b": "1",
		"/config/job/a b":                             "jobName: a b\nappName: test_app\n",
		"/state/failover/misfire_job":                 "",
		"/state/failover/misfire_job/misfire_job@-@0": "misfire_job@-@0@-@READY@-@S0@-@0f8e1a2b-0000-4000-8000-000000000001",
		"/state/failover/misfire_job/misfire_job@-@2": "misfire_job@-@2@-@READY@-@S0@-@0f8e1a2b-0000-4000-8000-000000000002",
		"/state/failover/plain_job/plain_job@-@7":     "plain_job@-@7@-@READY@-@S0@-@0f8e1a2b-0000-4000-8000-000000000003",
	}
	check := func(t *testing.T, s *stage) {
		t.Helper()
		waiting := map[string]int{}
		for _, v := range s.core.views.ReadyJobs() {
			waiting[v.JobName] = v.Times
		}
		if waiting["misfire_job"] != 3 || waiting["plain_job"] != 1 || len(waiting) != 2 {
			t.Errorf("the waiting fires are %v", waiting)
		}
		lost := s.core.views.FailoverShards()
		if len(lost) != 2 || lost[0].Item != 0 || lost[1].Item != 2 ||
			lost[0].OriginalTaskID != nodes["/state/failover/misfire_job/misfire_job@-@0"] {
			t.Errorf("the lost shards are %+v", lost)
		}
		for path := range nodes {
			mustStay := slices.Contains([]string{"/state/ready/nobody", "/state/ready/a b",
				"/state/failover/plain_job/plain_job@-@7", "/config/job/a b"}, path)
			if _, exists := s.stored[path]; exists != mustStay {
				t.Errorf("%s is stored: %v, want %v", path, exists, mustStay)
			}
		}
		if f := s.core.views.FaultyDocuments(); len(f) != 1 || f[0].Path != "/config/job/a b" ||
			!strings.Contains(f[0].Reason, "jobName") {
			t.Errorf("the faulty documents are %+v", f)
		}
	}
	s := newStage(t)
	s.storeOriginal(nodes)
	s.restart()
	check(t, s)
	ended := slices.IndexFunc(slices.Collect(s.core.executions.AllEnded()),
		func(e *executions.Execution) bool { return e.Job() == "disabled_job" && e.State() == executions.Killed })
	if ended < 0 {
		t.Error("the waiting fire of a disabled job does not end as killed (rule F6)")
	}
	s.restart()
	check(t, s)
	// Of misfire_job, only the lost shards are launched. Its waiting fires come later.
	s.offer("S1", 8, 8000)
	launches := s.answerAccepts()
	items := map[string][]int{}
	for _, l := range launches {
		id, err := jobs.ParseTaskID(l.TaskID)
		if err != nil {
			t.Fatal(err)
		}
		items[id.Job+" "+id.Type] = append(items[id.Job+" "+id.Type], id.Item)
	}
	if got := items["misfire_job FAILOVER"]; !slices.Equal(got, []int{0, 2}) || len(items["misfire_job READY"]) > 0 ||
		len(items["plain_job READY"]) != 3 {
		t.Fatalf("launched %v", items)
	}
	for _, l := range launches {
		s.update(l, cluster.Finished)
	}
	if len(s.core.views.FailoverShards()) > 0 {
		t.Error("shards are still listed as lost after they have finished")
	}
}

// storeOriginal replaces the registry by the entries that an installation of ElasticJob-Cloud 3.0.1 leaves, with the
// given nodes.
func (s *stage) storeOriginal(nodes map[string]string) {
	s.t.Helper()
	s.opt.Documents = step.YAMLDocuments
	s.stored = map[string][]byte{}
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount = "test_app", "http://localhost/app.jar", "bin/start.sh", 0.5
	s.stored["/config/app/test_app"] = app.Schema.EncodeYAML(a)
	for _, name := range []string{"misfire_job", "plain_job", "disabled_job"} {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType, j.Cron = name, "test_app", jobs.Transient, "0 0 3 * * ?"
		j.ShardingTotalCount, j.CPUCount, j.MemoryMB, j.Misfire, j.Failover = 3, 1, 64, name == "misfire_job", true
		s.stored["/config/job/"+name] = jobs.Schema.EncodeYAML(j)
	}
	s.stored["/state/disable/job/disabled_job"] = []byte("disabled_job")
	for path, value := range nodes {
		s.stored[path] = []byte(value)
	}
}

// questions returns the invented tasks about which the last step asks the master.
func (s *stage) questions() (ids []string) {
	for _, c := range calls[step.CallReconcile](s.last) {
		for _, t := range c.Tasks {
			if strings.HasPrefix(t.TaskID, "question-") {
				ids = append(ids, t.TaskID)
			}
		}
	}
	return ids
}

// answer makes the master answer a question, as it does when all agents are back.
func (s *stage) answer(question string) Decision {
	s.t.Helper()
	return s.step(s.clusterEvent(cluster.Update{TaskID: question, State: cluster.Unknown, Source: cluster.FromMaster,
		Reason: cluster.ReasonReconciliation}))
}

// nextQuestion makes the master answer the open question, and returns the next question.
func (s *stage) nextQuestion() string {
	s.t.Helper()
	s.answer(s.core.subscription.Marker())
	return s.core.subscription.Marker()
}
