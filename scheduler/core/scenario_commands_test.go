package core

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// scenarioCommands are the commands of scenarios by their first words. The words that follow are:
//
//	app NAME [cpus= mem= url= script=]     registers an app
//	job NAME [app= shards= cpus= mem= cron= parameter= retries= backoff= timeout= grace= failover= misfire= type=
//	  handler= unreachable=]
//	change app|job NAME …                  changes an app or job; the options are the same
//	disable|enable app|job NAME, pause|resume|shutdown JOB, deregister JOB, delete app NAME [with-jobs]
//	trigger JOB [key= own=JSON], forget TASK, drain
//	kill task TASK, kill execution ID
//	offer AGENT cpus= mem= [runs=EXECUTOR,…] [goes-in=DURATION] [host=HOST], rescind OFFER
//	cordon HOST|AGENT [for=DURATION] [why=TEXT] [unknown], uncordon HOST|AGENT, machines
//	drain-machine HOST|AGENT [deadline=DURATION] [why=TEXT] [unknown]
//	dead HOST|AGENT [why=TEXT] [force]
//	accept answered|refused|lost           the answer to all ACCEPTs that wait for one; lost ends the session
//	update TASK STATE [from= on= reason= message= cause= exit= unreachable= unanswered= supervisor=lost
//	  run=STATE@DURATION number= retried= runs= failed= skipped=] [again]
//	report EXECUTOR [clock=±DURATION] [from=AGENT] [TASK FRACTION [MESSAGE]]
//	                                       a message of an executor whose clock is wrong by that duration
//	failure agent AGENT, failure executor EXECUTOR
//	notified JOB ok|PROBLEM                the outcome of the notification that was sent for a job
//	session ended [removed] [reason=], session began [master=]
//	wait DURATION, clock ±DURATION         time passes; the wall clock is set
//	crash, restart [after=DURATION]        the next leader begins, without and with an answer to its SUBSCRIBE
//	explain JOB, executions JOB            what users see
//	option [binary= fires-per-step= ended-kept=]
//	                                       sets options of the next leader
//	reconcile explicit|implicit            an operator's request
//	answered [AGENT STATE]                 the master answers the question about an invented task (rules T8, T7)
//	stored PATH [TEXT]                     adds an entry of another scheduler to the registry; a restart finds it
//	history on                             the next leaders have a history
//	history stored N                       the first N batches of the term are in the database
//	audit on                               audit rows are reported from here on
//	audit rows ID:ACTION:USER …            requests audit rows for changes outside of the core
//	by NAME [kind= from=]                  the requester from here on
//	edit PATH [TEXT]                       an external edit writes or removes a document or mark
//	mute CALL…                             leaves these calls out until the next begin
//	begin                                  starts over with an empty registry
//
// A TASK is JOB/ITEM#N, JOB/ITEM for the last launch of an item, or any other text for an unknown task. An EXECUTOR is
// APP#N.
var scenarioCommands = map[string]func(*scene, *scenario.Words) error{
	"app":        (*scene).cmdApp,
	"job":        (*scene).cmdJob,
	"change":     (*scene).cmdChange,
	"disable":    func(s *scene, w *scenario.Words) error { return s.cmdDisable(w, true) },
	"enable":     func(s *scene, w *scenario.Words) error { return s.cmdDisable(w, false) },
	"deregister": func(s *scene, w *scenario.Words) error { return s.planned(s.core.planDeregisterJob(w.Next())) },
	"pause": func(s *scene, w *scenario.Words) error {
		return s.steps(Request{Token: 1, Event: operator.PauseRequested{Job: w.Next(), Paused: true, Actor: s.actor}})
	},
	"resume": func(s *scene, w *scenario.Words) error {
		return s.steps(Request{Token: 1, Event: operator.PauseRequested{Job: w.Next(), Actor: s.actor}})
	},
	"shutdown": func(s *scene, w *scenario.Words) error { return s.planned(s.core.planShutDownJob(w.Next())) },
	"delete":   (*scene).cmdDelete,
	"trigger": func(s *scene, w *scenario.Words) error {
		overrides, err := jobs.DecodeOverrides([]byte(w.Option("own", "")))
		if err != nil {
			return err
		}
		return s.steps(Request{Token: 1, Event: operator.TriggerRequested{Job: w.Next(), Key: w.Option("key", ""),
			Overrides: overrides, Actor: s.actor}})
	},
	"forget": func(s *scene, w *scenario.Words) error {
		return s.steps(Request{Token: 1, Event: operator.ForgetRequested{TaskID: s.taskID(w.Next()), Actor: s.actor}})
	},
	"cordon":        (*scene).cmdCordon,
	"dead":          (*scene).cmdDead,
	"drain-machine": (*scene).cmdDrainMachine,
	"uncordon": func(s *scene, w *scenario.Words) error {
		return s.steps(Request{Token: 1, Event: operator.UncordonRequested{Machine: w.Next(), Actor: s.actor}})
	},
	"machines": func(s *scene, _ *scenario.Words) error { s.reportMachines(s.core.views.Machines()...); return nil },
	"drain":    func(s *scene, _ *scenario.Words) error { return s.steps(Drain{}) },
	"kill":     (*scene).cmdKill,
	"offer":    (*scene).cmdOffer,
	"rescind": func(s *scene, w *scenario.Words) error {
		return s.steps(s.clusterEvent(cluster.Rescind{OfferID: w.Next()}))
	},
	"accept":  (*scene).cmdAccept,
	"update":  (*scene).cmdUpdate,
	"failure": (*scene).cmdFailure,
	"notified": func(s *scene, w *scenario.Words) error {
		job, problem := w.Next(), w.Next()
		if problem == "ok" {
			problem = ""
		}
		return s.steps(notifications.NotificationSent{Job: job, Seq: s.core.notifications.LastSeq(), Problem: problem,
			Final: problem == "refused"})
	},
	"report":     (*scene).cmdReport,
	"session":    (*scene).cmdSession,
	"wait":       (*scene).cmdWait,
	"clock":      (*scene).cmdClock,
	"crash":      (*scene).cmdCrash,
	"restart":    (*scene).cmdRestart,
	"explain":    (*scene).cmdExplain,
	"executions": func(s *scene, w *scenario.Words) error { s.reportExecutions(w.Next()); return nil },
	"begin":      func(s *scene, _ *scenario.Words) error { s.begin(s.t); return nil },
	"mute":       (*scene).cmdMute,
	"audit":      (*scene).cmdAudit,
	"by":         (*scene).cmdBy,
	"edit":       (*scene).cmdEdit,
	"option":     (*scene).cmdOption,
	"reconcile": func(s *scene, w *scenario.Words) error {
		return s.steps(Request{Token: 1,
			Event: operator.ReconcileRequested{Explicit: w.Next() == "explicit", Actor: s.actor}})
	},
	"stored":   (*scene).cmdStored,
	"history":  (*scene).cmdHistory,
	"answered": (*scene).cmdAnswered,
}

// Command executes a line of a scenario.
func (s *scene) Command(line string) error {
	name, w, err := scenario.Split(line)
	if err != nil {
		return err
	}
	command := scenarioCommands[name]
	if command == nil {
		return fmt.Errorf("there is no command %q", name)
	}
	if err := errors.Join(command(s, w), w.Err); err != nil {
		return err
	}
	if len(w.List)+len(w.Options) > 0 {
		return fmt.Errorf("the command %s does not know %q %q", name, w.List, w.Options)
	}
	return nil
}

// steps takes a step with the events, and reports its decision.
func (s *scene) steps(events ...Event) error {
	s.report(s.step(events...))
	return nil
}

func (s *scene) cmdKill(w *scenario.Words) error {
	if what := w.Next(); what == "execution" {
		name := w.Next()
		return s.steps(Request{Token: 1,
			Event: operator.KillRequested{ExecutionID: cmp.Or(s.names.IDs[name], name), Actor: s.actor}})
	}
	return s.steps(Request{Token: 1, Event: operator.KillRequested{TaskID: s.taskID(w.Next()), Actor: s.actor}})
}

// cmdWait lets time pass, with a step whenever the core requests one.
func (s *scene) cmdWait(w *scenario.Words) error {
	end := s.now.Add(w.Duration())
	s.stamped = true
	defer func() { s.stamped = false }()
	for range 100_000 {
		wake := s.wake()
		if wake.IsZero() || wake.After(end) {
			s.now = end
			return s.steps()
		}
		if !wake.After(s.now) {
			wake = s.now.Add(time.Millisecond)
		}
		s.now = wake
		s.report(s.step())
	}
	return errors.New("the core keeps asking for steps while no time passes")
}

func (s *scene) cmdClock(w *scenario.Words) error {
	s.skew += w.Duration()
	return s.steps()
}

// cmdCrash begins the next term with the stored state, after a time without a leader.
func (s *scene) cmdCrash(w *scenario.Words) error {
	if pause := w.Option("after", ""); pause != "" {
		d, err := time.ParseDuration(pause)
		if err != nil {
			return err
		}
		s.now = s.now.Add(d)
	}
	s.accepts = slices.Delete(s.accepts, 0, len(s.accepts))
	if s.opt.History {
		s.opt.Term++
	}
	s.core = New(s.opt)
	s.loadedAt, s.wallAtLoad = s.now, s.wall()
	if err := s.core.Load(s.wall(), Stored{Entries: s.entries()}); err != nil {
		return err
	}
	return s.steps()
}

// cmdRestart is like cmdCrash, but the master also answers the SUBSCRIBE of the new leader.
func (s *scene) cmdRestart(w *scenario.Words) error {
	if err := s.cmdCrash(w); err != nil {
		return err
	}
	return s.steps(SessionBegan{Session: s.core.subscription.Number(), MasterID: "master-1"})
}

func (s *scene) cmdMute(w *scenario.Words) error {
	for len(w.List) > 0 {
		name := w.Next()
		call, ok := mutable[name]
		if !ok {
			return fmt.Errorf("the calls %s can't be muted", name)
		}
		s.muted[reflect.TypeOf(call)] = true
	}
	return nil
}

func (s *scene) cmdOption(w *scenario.Words) error {
	s.opt.ExecutorBinary = w.Option("binary", s.opt.ExecutorBinary)
	s.opt.FiresPerStep = int(w.Number("fires-per-step", float64(s.opt.FiresPerStep)))
	s.opt.MaxEnded = int(w.Number("ended-kept", float64(s.opt.MaxEnded)))
	return nil
}

func (s *scene) cmdExplain(w *scenario.Words) error {
	x, err := s.core.views.Explain(w.Next())
	if refused := (*problem.Error)(nil); errors.As(err, &refused) {
		s.say("refused (%s): %s", refused.Code, refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	s.reportExplanation(x)
	return nil
}

// cmdStored adds an entry of another scheduler to the registry.
func (s *scene) cmdStored(w *scenario.Words) error {
	path := w.Next()
	text := ""
	if len(w.List) > 0 {
		text = w.Next()
	}
	s.stored[path] = []byte(text)
	return nil
}
