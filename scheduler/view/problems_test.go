package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

func (s *stage) problems(scope explain.Scope) []view.Problem {
	s.t.Helper()
	o, err := s.Overview(s.t.Context(), scope, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	return o.Problems
}

// problem returns the only problem of a kind.
func (s *stage) problem(kind string) view.Problem {
	s.t.Helper()
	var found []view.Problem
	all := s.problems(explain.All())
	for _, p := range all {
		if p.Kind == kind {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%d of %s among %+v", len(found), kind, all)
	}
	return found[0]
}

func (s *stage) none(kind string) {
	s.t.Helper()
	for _, p := range s.problems(explain.All()) {
		if p.Kind == kind {
			s.t.Errorf("there is %+v", p)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for kind, play := range map[string]func(t *testing.T, s *stage){
		"NOT_SUBSCRIBED": func(t *testing.T, s *stage) {
			s.step(core.SessionEnded{Session: 1, Reason: "connection refused"})
			if p := s.problem("NOT_SUBSCRIBED"); p.Severity != "error" ||
				!strings.Contains(p.Message, "connection refused") || p.MessageCode != "not_connected" {
				t.Errorf("%+v", p)
			}
		},
		"FAILING": func(t *testing.T, s *stage) {
			s.run("job", cluster.Failed)
			first := s.now
			s.run("job", cluster.Failed)
			p := s.problem("FAILING")
			if p.Job != "job" || p.App != "a" || p.Count != 2 || p.Since == nil || !p.Since.Equal(first) ||
				!strings.Contains(p.Message, "(1 of 1 shard did not finish)") {
				t.Errorf("%+v, the first failed at %s", p, first)
			}
			s.run("job", cluster.Finished)
			s.none("FAILING")
		},
		"WAITING": func(t *testing.T, s *stage) {
			s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "large"}})
			s.offer("o2")
			s.none("WAITING")
			s.now = s.now.Add(61 * time.Second)
			s.step()
			if p := s.problem("WAITING"); p.Job != "large" || p.Severity != "warning" ||
				!strings.Contains(p.Message, "100 CPU") {
				t.Errorf("%+v", p)
			}
		},
		"LATE": func(t *testing.T, s *stage) { // without a step
			s.now = s.now.Add(2*time.Minute - time.Second)
			s.none("LATE")
			s.now = s.now.Add(2 * time.Second)
			if p := s.problem("LATE"); p.Job != "fires" || p.Severity != "error" || p.MessageCode != "fire_late" {
				t.Errorf("%+v", p)
			}
		},
		"AGENT_UNREACHABLE": func(t *testing.T, s *stage) {
			s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "job"}})
			s.offer("o2")
			task := launches(s.last).Launch.Tasks[0]
			s.step(core.LaunchAnswered{Session: 1, Seq: 1, OK: true},
				core.ClusterEvent{Session: 1,
					Event: cluster.Update{TaskID: task.TaskID, AgentID: "S1", State: cluster.Unreachable,
						Source: cluster.FromMaster, UnreachableSince: s.now}})
			if p := s.problem("AGENT_UNREACHABLE"); p.Agent != "S1" || p.Count != 1 ||
				!strings.Contains(p.Message, "h1") || p.MessageCode != "agent_away" {
				t.Errorf("%+v", p)
			}
			sum, err := s.Summary(t.Context(), explain.All(), s.now.Add(time.Second))
			if err != nil || sum.Agents.Unreachable != 1 || sum.Agents.Total != 1 {
				t.Errorf("%+v, %v", sum.Agents, err)
			}
		},
		"FAULTY": func(t *testing.T, s *stage) {
			s.step(config.DocumentFaulty{Path: "/config/job/job", Why: reason.FromText("no JSON\nat line 1")})
			if p := s.problem("FAULTY"); p.Job != "job" || p.App != "a" || p.Path != "/config/job/job" ||
				p.Message != "no JSON at line 1" || p.MessageCode != "text" {
				t.Errorf("%+v", p)
			}
		},
		"START_FAILURES": func(t *testing.T, s *stage) {
			s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "job"}})
			s.offer("o2")
			task := launches(s.last).Launch.Tasks[0]
			s.step(core.LaunchAnswered{Session: 1, Seq: 1, OK: true},
				core.ClusterEvent{Session: 1,
					Event: cluster.Update{TaskID: task.TaskID, AgentID: "S1", ExecutorID: task.Executor.ID,
						State: cluster.Failed, Source: cluster.FromAgent,
						Reason: cluster.ReasonExecutorTerminated, Message: "no such binary", UUID: []byte("u"),
						Timestamp: s.now}})
			if p := s.problem("START_FAILURES"); p.App != "a" || p.Agent != "S1" || p.Count != 1 || p.Message == "" ||
				p.MessageCode != "executor_ended" {
				t.Errorf("%+v", p)
			}
		},
		"MISSED": func(t *testing.T, s *stage) {
			s.now = s.now.Add(3 * time.Hour)
			s.step()
			if p := s.problem("MISSED"); p.Job != "fires" || p.Severity != "warning" ||
				!strings.Contains(p.Message, "none of the fires") {
				t.Errorf("%+v", p)
			}
		},
		"UNNOTIFIED": func(t *testing.T, s *stage) {
			s.run("tells", cluster.Failed)
			if len(s.last.Notifications) != 1 {
				t.Fatalf("%+v", s.last.Notifications)
			}
			s.step(notifications.NotificationSent{Job: "tells", Seq: s.last.Notifications[0].Seq,
				Problem: "the mail server is away"})
			if p := s.problem("UNNOTIFIED"); p.Job != "tells" || p.Count != 1 ||
				p.Message != "the mail server is away" || p.MessageCode != "text" {
				t.Errorf("%+v", p)
			}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, anApp("a"), anApp("b"), aJob("job", "a"),
				aJob("large", "b", func(j *jobs.Config) { j.CPUCount = 100 }),
				aJob("fires", "b", func(j *jobs.Config) { j.Cron, j.CPUCount = "0 0/1 * * * ?", 100 }),
				aJob("tells", "a", func(j *jobs.Config) {
					j.JobErrorHandlerType, j.Props = jobs.HandlerWebhook,
						document.Texts{"webhook.url": {Value: "http://127.0.0.1/x"}}
				}))
			s.subscribed()
			s.none(kind)
			play(t, s)
		})
	}
}

// TestProblemsOfSomeApps: a scope of some apps shows no problems of other apps, nor of the cluster.
func TestProblemsOfSomeApps(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), anApp("b"), aJob("mine", "a"), aJob("theirs", "b"))
	s.subscribed()
	s.run("mine", cluster.Failed)
	s.run("theirs", cluster.Failed)
	s.step(config.DocumentFaulty{Path: "/config/job/unknown", Why: reason.FromText("no JSON")},
		core.SessionEnded{Session: 1, Reason: "away"})
	o, err := s.Overview(t.Context(), of("a"), s.now)
	if err != nil || len(o.Problems) != 1 || o.Problems[0].Job != "mine" {
		t.Errorf("%+v, %v", o.Problems, err)
	}
	if sum := o.Summary; sum.Apps != 1 || fmt.Sprint(sum.Jobs) != "map[ON_TRIGGER:1]" || sum.Agents != nil ||
		sum.CPUs != nil || sum.Queues != nil || sum.Subscribed != nil || sum.FailedLastHour != nil {
		t.Errorf("%+v", sum)
	}
}

func TestWorstComeFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a"), aJob("other", "a"))
	s.subscribed()
	s.run("other", cluster.Failed)
	s.run("job", cluster.Failed)
	s.step(core.SessionEnded{Session: 1, Reason: strings.Repeat("é", 300)})
	all := s.problems(explain.All())
	if len(all) != 3 || all[0].Kind != "NOT_SUBSCRIBED" || all[1].Job != "other" || all[2].Job != "job" {
		t.Errorf("%+v", all)
	}
	if n, why := len([]rune(all[0].Message)), all[0].MessageArgs["why"].(string); n != 200 ||
		len([]rune(why)) != 200 || !strings.HasPrefix(why, "éé") {
		t.Errorf("a message of %d characters, because of %q", n, why)
	}
	if w := view.WarningOf("disk full\nmore"); w.Kind != "WARNING" || w.Severity != "warning" ||
		w.Message != "disk full more" {
		t.Errorf("%+v", w)
	}
}
