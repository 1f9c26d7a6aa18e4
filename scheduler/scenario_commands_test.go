package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
)

// scenarioCommands are the commands of scenarios, with the words that follow:
//
//	app NAME [cpus= mem= url= script=]     registers an app; change app changes it
//	job NAME [app= shards= cpus= mem= cron= parameter= retries= failover= misfire=]
//	change app|job NAME …
//	disable|enable app|job NAME, deregister JOB, delete app NAME [with-jobs]
//	trigger JOB [key= own=JSON], forget TASK, drain
//	kill task TASK, kill execution ID
//	offer AGENT cpus= mem= [runs=EXECUTOR,…] [goes-in=DURATION], rescind OFFER
//	accept answered|refused|lost           all ACCEPTs under way; lost ends the session
//	update TASK STATE [from= reason= message= cause= exit= supervisor=lost] [again]
//	failure agent AGENT, failure executor EXECUTOR
//	session ended [removed] [reason=], session began [master=]
//	wait DURATION, clock ±DURATION         time passes; the wall clock is set
//	crash, restart [after=DURATION]        the next leader, without and with its SUBSCRIBED
//	explain JOB, executions JOB            what people read
//	option [binary= fires-per-step= ended-kept=]  of the next leader
//	reconcile explicit|implicit            an operator asks for it
//	answered [AGENT STATE]                 the master answers the question about an invented task (rules T8, T7)
//	stored PATH TEXT                       another scheduler left this in the registry; a restart finds it
//	mute CALL…                             leaves these calls out until the next begin
//	begin                                  a new world
//
// A TASK is JOB/ITEM#N, or JOB/ITEM for its last launch, or any other text for a
// task of somebody else; an EXECUTOR is APP#N.
var scenarioCommands = map[string]func(*scene, *words) error{
	"app":        (*scene).cmdApp,
	"job":        (*scene).cmdJob,
	"change":     (*scene).cmdChange,
	"disable":    func(s *scene, w *words) error { return s.cmdDisable(w, true) },
	"enable":     func(s *scene, w *words) error { return s.cmdDisable(w, false) },
	"deregister": func(s *scene, w *words) error { return s.planned(s.core.planDeregisterJob(w.next())) },
	"delete":     (*scene).cmdDelete,
	"trigger": func(s *scene, w *words) error {
		own, err := jobs.DecodeOverrides([]byte(w.option("own", "")))
		if err != nil {
			return err
		}
		return s.steps(TriggerRequested{Token: 1, Job: w.next(), Key: w.option("key", ""), Overrides: own})
	},
	"forget":     func(s *scene, w *words) error { return s.steps(ForgetRequested{Token: 1, TaskID: s.taskID(w.next())}) },
	"drain":      func(s *scene, _ *words) error { return s.steps(Drain{}) },
	"kill":       (*scene).cmdKill,
	"offer":      (*scene).cmdOffer,
	"rescind":    func(s *scene, w *words) error { return s.steps(s.clusterEvent(cluster.Rescind{OfferID: w.next()})) },
	"accept":     (*scene).cmdAccept,
	"update":     (*scene).cmdUpdate,
	"failure":    (*scene).cmdFailure,
	"session":    (*scene).cmdSession,
	"wait":       (*scene).cmdWait,
	"clock":      (*scene).cmdClock,
	"crash":      (*scene).cmdCrash,
	"restart":    (*scene).cmdRestart,
	"explain":    (*scene).cmdExplain,
	"executions": func(s *scene, w *words) error { s.reportExecutions(w.next()); return nil },
	"begin":      func(s *scene, _ *words) error { s.begin(s.t); return nil },
	"mute":       (*scene).cmdMute,
	"option":     (*scene).cmdOption,
	"reconcile": func(s *scene, w *words) error {
		return s.steps(ReconcileRequested{Token: 1, Explicit: w.next() == "explicit"})
	},
	"stored":   (*scene).cmdStored,
	"answered": (*scene).cmdAnswered,
}

// words are what follows a command: words, and options name=value.
type words struct {
	list    []string
	options map[string]string
	err     error
}

func (w *words) next() string {
	if len(w.list) == 0 {
		w.err = errors.Join(w.err, errors.New("a word is missing"))
		return ""
	}
	word := w.list[0]
	w.list = w.list[1:]
	return word
}

func (w *words) option(name, otherwise string) string {
	value, ok := w.options[name]
	if !ok {
		return otherwise
	}
	delete(w.options, name)
	return value
}

func (w *words) number(name string, otherwise float64) float64 {
	text, ok := w.options[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	w.err = errors.Join(w.err, err)
	delete(w.options, name)
	return n
}

func (w *words) duration() time.Duration {
	d, err := time.ParseDuration(w.next())
	w.err = errors.Join(w.err, err)
	return d
}

// split takes a line apart: the command's name, its words, and its options NAME=VALUE.
func split(line string) (name string, w *words, err error) {
	all, err := app.SplitCommand(line)
	if err != nil {
		return "", nil, err
	}
	w = &words{options: map[string]string{}}
	for _, one := range all[1:] {
		if name, value, ok := strings.Cut(one, "="); ok {
			w.options[name] = value
		} else {
			w.list = append(w.list, one)
		}
	}
	return all[0], w, nil
}

// Command does what a line of a scenario says.
func (s *scene) Command(line string) error {
	name, w, err := split(line)
	if err != nil {
		return err
	}
	do := scenarioCommands[name]
	if do == nil {
		return fmt.Errorf("there is no command %q", name)
	}
	if err := errors.Join(do(s, w), w.err); err != nil {
		return err
	}
	if len(w.list)+len(w.options) > 0 {
		return fmt.Errorf("what of %q %q?", w.list, w.options)
	}
	return nil
}

func (s *scene) steps(events ...Event) error {
	s.report(s.step(events...))
	return nil
}

func (s *scene) cmdKill(w *words) error {
	if what := w.next(); what == "execution" {
		name := w.next()
		return s.steps(KillRequested{Token: 1, ExecutionID: cmp.Or(s.ids[name], name)})
	}
	return s.steps(KillRequested{Token: 1, TaskID: s.taskID(w.next())})
}

// cmdWait lets time pass in the steps that the core asks for.
func (s *scene) cmdWait(w *words) error {
	end := s.now.Add(w.duration())
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
	return errors.New("the core wants to step again and again without time passing")
}

func (s *scene) cmdClock(w *words) error {
	s.skew += w.duration()
	return s.steps()
}

// cmdCrash begins the next term with what is stored, after a time without a leader.
func (s *scene) cmdCrash(w *words) error {
	if pause := w.option("after", ""); pause != "" {
		d, err := time.ParseDuration(pause)
		if err != nil {
			return err
		}
		s.now = s.now.Add(d)
	}
	var entries []registry.Entry
	for _, path := range sortedKeys(s.stored) {
		entries = append(entries, registry.Entry{Path: path, Value: s.stored[path]})
	}
	s.accepts = slices.Delete(s.accepts, 0, len(s.accepts))
	s.core = NewCore(s.opt)
	s.loaded, s.began = s.now, s.wall()
	if err := s.core.Load(s.wall(), Stored{entries}); err != nil {
		return err
	}
	return s.steps()
}

func (s *scene) cmdRestart(w *words) error {
	if err := s.cmdCrash(w); err != nil {
		return err
	}
	return s.steps(SessionBegan{Session: s.core.session.number, MasterID: "master-1"})
}

// mutable are the calls that a scenario can leave out because it is not about them.
var mutable = []Call{CallReconcile{}, CallRevive{}, CallSuppress{}, CallDecline{}}

func (s *scene) cmdMute(w *words) error {
	for len(w.list) > 0 {
		name := w.next()
		if !slices.ContainsFunc(mutable, func(c Call) bool { return callName(c) == name }) {
			return fmt.Errorf("the calls %s can't be muted", name)
		}
		s.muted[name] = true
	}
	return nil
}

func (s *scene) cmdOption(w *words) error {
	s.opt.ExecutorBinary = w.option("binary", s.opt.ExecutorBinary)
	s.opt.FiresPerStep = int(w.number("fires-per-step", float64(s.opt.FiresPerStep)))
	s.opt.EndedKept = int(w.number("ended-kept", float64(s.opt.EndedKept)))
	return nil
}

func (s *scene) cmdExplain(w *words) error {
	x, err := s.core.Explain(w.next())
	if refused := (*Error)(nil); errors.As(err, &refused) {
		s.say("refused (%s): %s", refused.Code, refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	s.reportExplanation(x)
	return nil
}

// cmdStored puts into the registry what somebody else left there.
func (s *scene) cmdStored(w *words) error {
	path := w.next()
	text := ""
	if len(w.list) > 0 {
		text = w.next()
	}
	s.stored[path] = []byte(text)
	return nil
}
