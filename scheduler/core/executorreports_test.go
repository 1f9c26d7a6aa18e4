package core

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// sendReport makes the executor of a task on agent S1 send a report.
func (s *stage) sendReport(l cluster.TaskLaunch, r wire.Report) Decision {
	s.t.Helper()
	return s.sendMessage(l, &r)
}

// sendMessage makes the executor of a task on agent S1 send a message. Its report is nil if the core can't decode it.
func (s *stage) sendMessage(l cluster.TaskLaunch, r *wire.Report) Decision {
	s.t.Helper()
	return s.step(s.clusterEvent(cluster.Message{AgentID: "S1", ExecutorID: l.Executor.ID, Report: r}))
}

// TestX13ReportsDecideNothing checks that the same events lead to the same calls and writes, whether the reports of
// the executor are empty, are wrong, or can't be decoded.
func TestX13ReportsDecideNothing(t *testing.T) {
	t.Parallel()
	var decided [3][]Decision
	for i, report := range []func(s *stage, l cluster.TaskLaunch){
		func(s *stage, l cluster.TaskLaunch) { s.sendMessage(l, nil) },
		func(s *stage, l cluster.TaskLaunch) {
			s.sendReport(l, wire.Report{Time: s.wall().Add(time.Hour), Tasks: []wire.TaskReport{
				{TaskID: l.TaskID, Progress: &wire.Progress{Fraction: 1}, Fire: s.wall(),
					Totals: &wire.Totals{Runs: math.MaxInt64}},
				{TaskID: "an unknown task"}, {}}})
		},
		func(s *stage, l cluster.TaskLaunch) { s.sendMessage(l, &wire.Report{}) },
	} {
		s := newStage(t)
		s.app()
		s.job(oneShard)
		l := s.startWithCPUs(8)[0]
		record := func() {
			d := s.last
			d.Notes = nil
			decided[i] = append(decided[i], d)
		}
		report(s, l)
		s.update(l, cluster.Running)
		record()
		report(s, l)
		s.runFor(time.Minute)
		record()
		s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"}))
		report(s, l)
		s.update(l, cluster.Finished)
		record()
		report(s, l)
		s.runFor(20 * time.Minute)
		record()
	}
	for _, decisions := range decided[1:] {
		if !reflect.DeepEqual(decisions, decided[0]) {
			t.Errorf("decided with reports\n%+v\nand without\n%+v", decisions, decided[0])
		}
	}
}

// TestNotesAboutClocksChangeInSteps checks that the shown error of an agent's clock changes only when the error
// differs enough from it. In the same step, the job with that note must be reported as changed, so that the console
// reads it again.
func TestNotesAboutClocksChangeInSteps(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)[0]
	shown := ""
	for _, r := range []struct {
		ahead   time.Duration
		changed bool
		want    string
	}{
		{0, false, ""},
		{1200 * time.Millisecond, true, "is 1.2s ahead of"},
		{2100 * time.Millisecond, false, "is 1.2s ahead of"},
		{2300 * time.Millisecond, true, "is 2.3s ahead of"},
		{time.Hour, true, "is 1h0m0s ahead of"},
	} {
		s.stepAfter(wire.ReportInterval)
		d := s.sendReport(l, wire.Report{Time: s.wall().Add(r.ahead)})
		if changed := d.Changed.Cluster && slices.Contains(d.Changed.Jobs, "my_job"); changed != r.changed {
			t.Errorf("%s ahead: reported as changed %t, want %t", r.ahead, changed, r.changed)
		}
		shown = strings.Join(s.explain("my_job").Notes, "; ")
		if !strings.Contains(shown, r.want) || r.want == "" && strings.Contains(shown, "clock") {
			t.Errorf("%s ahead: shown %q, want %q", r.ahead, shown, r.want)
		}
	}
	s.moveClock(900 * time.Millisecond) // too little to count as a setting of the clock
	if now := strings.Join(s.explain("my_job").Notes, "; "); now != shown {
		t.Errorf("shown %q, and then %q without being reported as changed", shown, now)
	}
	a, e1 := s.core.views.Agent("S1")
	boxes, e2 := s.core.views.Sandboxes("my_app")
	if e1 != nil || e2 != nil || a.NoteCode != "agent_clock_ahead" || len(boxes) != 1 ||
		boxes[0].NoteCode != a.NoteCode {
		t.Errorf("the agent is shown as %+v, %v, its sandboxes as %+v, %v", a, e1, boxes, e2)
	}
}

// TestX13AQuietExecutorIsShown checks that an executor with a daemon's shard is shown as quiet if it sends no report
// for a minute while its agent is registered. The log says so only once, and also when it reports again.
func TestX13AQuietExecutorIsShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)[0]
	s.core.executions.Ref(l.TaskID).Exec.Settings().Job.JobExecutionType = jobs.Daemon
	var notes []string
	wait := func(d time.Duration) {
		t.Helper()
		for end := s.now.Add(d); s.now.Before(end); {
			s.stepAfter(time.Second)
			for _, n := range s.last.Notes {
				if n.Kind == step.NoteExecutorQuiet {
					notes = append(notes, n.Detail)
				}
			}
		}
	}
	expect := func(noted int, explained string) {
		t.Helper()
		if got := strings.Join(s.explain("my_job").Notes, "; "); len(notes) != noted ||
			!strings.Contains(got, explained) || explained == "" && strings.Contains(got, "reported") {
			t.Fatalf("noted %q, want %d notes; explained %q, want %q", notes, noted, got, explained)
		}
	}
	wait(50 * time.Second)
	s.sendReport(l, wire.Report{Time: s.wall()})
	wait(55 * time.Second)
	expect(0, "")
	wait(20 * time.Second)
	expect(1, "item 0: its executor last reported 1m15s ago, although agent S1 is registered")
	wait(10 * time.Minute)
	expect(1, "ago, although")
	s.sendReport(l, wire.Report{Time: s.wall()})
	if got := s.last.Notes; len(got) != 1 || !strings.Contains(got[0].Detail, "reports again") {
		t.Errorf("when it reports again, noted %+v", got)
	}
	expect(1, "")
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"}))
	wait(2 * time.Minute)
	expect(1, "")
	s.offer("S1", 1, 1000, l.Executor.ID)
	wait(50 * time.Second)
	expect(1, "")
	wait(20 * time.Second)
	expect(2, "last reported")
}
