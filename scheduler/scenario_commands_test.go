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
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/wire"
)

// scenarioCommands are the commands of scenarios, with the words that follow:
//
//	app NAME [cpus= mem= url= script=]     registers an app; change app changes it
//	job NAME [app= shards= cpus= mem= cron= parameter= retries= failover= misfire=]
//	change app|job NAME …
//	disable|enable app|job NAME, deregister JOB, delete app NAME
//	trigger JOB [key= own=JSON], forget TASK, drain
//	kill task TASK, kill execution ID
//	offer AGENT cpus= mem= [runs=EXECUTOR,…] [goes-in=DURATION], rescind OFFER
//	accept answered|refused|lost           all ACCEPTs under way; lost ends the session
//	update TASK STATE [from= reason= message= cause= exit= supervisor=lost] [again]
//	failure agent AGENT, failure executor EXECUTOR
//	session ended [removed] [reason=], session began [master=]
//	wait DURATION, clock ±DURATION         time passes; the wall clock is set
//	crash, restart                         the next leader, without and with its SUBSCRIBED
//	explain JOB, executions JOB            what people are told
//	option [binary= fires-per-step=]       of the next leader
//	reconcile explicit|implicit            an operator asks for it
//	answered [AGENT STATE]                 the master answers the question about an invented task (rules T8, T7)
//	stored PATH TEXT                       another scheduler left this in the registry; a restart finds it
//	begin                                  a new world
//
// A TASK is JOB/ITEM#N, or JOB/ITEM for its last launch, or any other text for a
// task that is not ours; an EXECUTOR is APP#N.
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
		return s.steps(TriggerAsked{Token: 1, Job: w.next(), Key: w.option("key", ""), Overrides: own})
	},
	"forget":     func(s *scene, w *words) error { return s.steps(ForgetAsked{Token: 1, TaskID: s.taskID(w.next())}) },
	"drain":      func(s *scene, _ *words) error { return s.steps(Drain{}) },
	"kill":       (*scene).cmdKill,
	"offer":      (*scene).cmdOffer,
	"rescind":    func(s *scene, w *words) error { return s.steps(s.told(cluster.Rescind{OfferID: w.next()})) },
	"accept":     (*scene).cmdAccept,
	"update":     (*scene).cmdUpdate,
	"failure":    (*scene).cmdFailure,
	"session":    (*scene).cmdSession,
	"wait":       (*scene).cmdWait,
	"clock":      (*scene).cmdClock,
	"crash":      func(s *scene, _ *words) error { return s.crash() },
	"restart":    (*scene).cmdRestart,
	"explain":    (*scene).cmdExplain,
	"executions": func(s *scene, w *words) error { s.tellExecutions(w.next()); return nil },
	"begin":      func(s *scene, _ *words) error { s.begin(s.t); return nil },
	"option":     (*scene).cmdOption,
	"reconcile": func(s *scene, w *words) error {
		return s.steps(ReconcileAsked{Token: 1, Explicit: w.next() == "explicit"})
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
	s.tell(s.step(events...))
	return nil
}

// planned does a change of configuration, or says why it is refused.
func (s *scene) planned(p plan, err error) error {
	if refused := (*Error)(nil); errors.As(err, &refused) {
		s.say("refused (%s): %s", refused.Code, refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	together := make([]string, len(p.writes))
	for i, w := range p.writes {
		together[i] = "put " + w.Path
		if w.Delete {
			together[i] = "delete " + w.Path
		}
	}
	s.say("COMMIT %s", strings.Join(together, ", "))
	s.apply(p, nil)
	s.tell(s.last)
	return nil
}

func changeApp(w *words, a app.Config) app.Config {
	a.CPUCount, a.MemoryMB = w.number("cpus", a.CPUCount), w.number("mem", a.MemoryMB)
	a.AppURL, a.BootstrapScript = w.option("url", a.AppURL), w.option("script", a.BootstrapScript)
	return a
}

func changeJob(w *words, j jobs.Config) jobs.Config {
	j.AppName, j.Cron, j.JobParameter = w.option("app", j.AppName), w.option("cron", j.Cron), w.option("parameter", j.JobParameter)
	j.ShardingTotalCount = int(w.number("shards", float64(j.ShardingTotalCount)))
	j.CPUCount, j.MemoryMB = w.number("cpus", j.CPUCount), w.number("mem", j.MemoryMB)
	j.MaxRetries = int(w.number("retries", float64(j.MaxRetries)))
	j.Failover = w.option("failover", strconv.FormatBool(j.Failover)) == "true"
	j.Misfire = w.option("misfire", strconv.FormatBool(j.Misfire)) == "true"
	return j
}

func (s *scene) cmdApp(w *words) error {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = w.next(), "http://127.0.0.1/p.tar", "bin/start.sh", 0.5, 128
	return s.planned(s.core.planRegisterApp(changeApp(w, a)))
}

func (s *scene) cmdJob(w *words) error {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = w.next(), "my_app", jobs.Transient, 1, 1, 64
	return s.planned(s.core.planRegisterJob(changeJob(w, j)))
}

func (s *scene) cmdChange(w *words) error {
	what, name := w.next(), w.next()
	if what == "app" {
		return s.planned(s.core.planUpdateApp(name, func(a app.Config) (app.Config, error) { return changeApp(w, a), nil }))
	}
	return s.planned(s.core.planUpdateJob(name, func(j jobs.Config) (jobs.Config, error) { return changeJob(w, j), nil }))
}

func (s *scene) cmdDisable(w *words, disabled bool) error {
	what, name := w.next(), w.next()
	if what == "app" {
		return s.planned(s.core.planDisableApp(name, disabled))
	}
	return s.planned(s.core.planDisableJob(name, disabled))
}

func (s *scene) cmdDelete(w *words) error {
	if what := w.next(); what != "app" {
		return fmt.Errorf("%q can't be deleted", what)
	}
	return s.planned(s.core.planDeleteApp(w.next(), false))
}

func (s *scene) cmdKill(w *words) error {
	if what := w.next(); what == "execution" {
		name := w.next()
		return s.steps(KillRequested{Token: 1, ExecutionID: cmp.Or(s.ids[name], name)})
	}
	return s.steps(KillRequested{Token: 1, TaskID: s.taskID(w.next())})
}

func (s *scene) cmdOffer(w *words) error {
	var runs []string
	if list := w.option("runs", ""); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			id := s.ids[name]
			if id == "" {
				id = strings.Replace(name, "#", "@-@S1@-@", 1) // of another life of ours
			}
			runs = append(runs, id)
		}
	}
	agent, cpus, mem := w.next(), w.number("cpus", 8), w.number("mem", 8192)
	goes := w.option("goes-in", "")
	if goes == "" {
		s.tell(s.offer(agent, cpus, mem, runs...))
		return nil
	}
	in, err := time.ParseDuration(goes)
	s.offerN++
	s.tell(s.step(s.told(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprintf("O%d", s.offerN), AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, mem), ExecutorIDs: runs, Unavailable: s.now.Add(in)}}})))
	return err
}

func (s *scene) cmdAccept(w *words) error {
	if len(s.accepts) == 0 {
		return errors.New("no ACCEPT is under way")
	}
	how, session := w.next(), s.core.session.number
	var answers []Event
	for _, c := range s.accepts {
		switch how {
		case "answered":
			answers = append(answers, AcceptAnswered{Session: session, Seq: c.Seq, OK: true})
		case "refused":
			answers = append(answers, AcceptAnswered{Session: session, Seq: c.Seq, Message: "refused"})
		}
	}
	if how == "lost" {
		answers = []Event{SessionEnded{Session: session, Reason: "an ACCEPT was not answered"}}
	}
	if len(answers) == 0 {
		return fmt.Errorf("an ACCEPT can't be %q", how)
	}
	s.accepts = nil
	return s.steps(answers...)
}

// taskID is the id of the task that is called so.
func (s *scene) taskID(name string) string {
	if !strings.Contains(name, "#") && s.counts[name+"#"] > 0 {
		name = fmt.Sprintf("%s#%d", name, s.counts[name+"#"])
	}
	if id, ok := s.ids[name]; ok {
		return id
	}
	return name
}

func (s *scene) cmdUpdate(w *words) error {
	id := s.taskID(w.next())
	state := cluster.State(w.next())
	u := cluster.Update{TaskID: id, AgentID: w.option("on", "S1"), State: state, Message: w.option("message", ""), Timestamp: s.now}
	if l, ok := s.tasks[s.names[id]]; ok {
		parsed, err := jobs.ParseTaskID(id)
		if err != nil {
			return err
		}
		u.AgentID, u.ExecutorID = parsed.Agent, l.Executor.ID
	}
	if reason := w.option("reason", ""); reason != "" {
		u.Reason = "REASON_" + reason
	}
	switch from := w.option("from", "executor"); from {
	case "executor":
		u.Source = cluster.FromExecutor
	case "agent":
		u.Source = cluster.FromAgent
	case "master":
		u.Source = cluster.FromMaster
	default:
		return fmt.Errorf("no update is from %q", from)
	}
	status := wire.Status{Cause: w.option("cause", ""), Unreachable: w.option("unreachable", "")}
	if _, ok := w.options["exit"]; ok {
		exit := int(w.number("exit", 0))
		status.ExitStatus = &exit
	}
	status.SupervisorLost = w.option("supervisor", "") == "lost"
	if status.Cause != "" || status.ExitStatus != nil || status.SupervisorLost {
		data, err := status.Encode()
		if err != nil {
			return err
		}
		u.Data = data
	}
	switch again := len(w.list) > 0 && w.next() == "again"; {
	case u.Source == cluster.FromMaster:
	case again:
		u.UUID = s.lastUUID[id]
	default:
		s.updates++
		u.UUID = fmt.Append(nil, "update ", s.updates)
		s.lastUUID[id] = u.UUID
	}
	if state == cluster.Unreachable {
		u.UnreachableSince = s.now
	}
	return s.steps(s.told(u))
}

func (s *scene) cmdFailure(w *words) error {
	if what := w.next(); what == "agent" {
		return s.steps(s.told(cluster.Failure{AgentID: w.next()}))
	}
	id := s.ids[w.next()]
	parsed, err := jobs.ParseExecutorID(id)
	if err != nil {
		return err
	}
	return s.steps(s.told(cluster.Failure{AgentID: parsed.Agent, ExecutorID: id, Status: 9}))
}

func (s *scene) cmdSession(w *words) error {
	session := s.core.session.number
	if what := w.next(); what == "began" {
		return s.steps(SessionBegan{Session: session, MasterID: w.option("master", "master-1")})
	}
	s.accepts = nil
	removed := len(w.list) > 0 && w.next() == "removed"
	return s.steps(SessionEnded{Session: session, Reason: w.option("reason", "the stream broke"), Removed: removed})
}

// cmdWait lets time pass in the steps that the core asks for.
func (s *scene) cmdWait(w *words) error {
	end := s.now.Add(w.duration())
	s.stamped = true
	defer func() { s.stamped = false }()
	for range 100_000 {
		wake := s.last.Wake
		if wake.IsZero() || wake.After(end) {
			s.now = end
			return s.steps()
		}
		if !wake.After(s.now) {
			wake = s.now.Add(time.Millisecond)
		}
		s.now = wake
		s.tell(s.step())
	}
	return errors.New("the core wants to step again and again without time passing")
}

func (s *scene) cmdClock(w *words) error {
	s.now = s.now.Add(w.duration())
	return s.steps()
}

// crash begins the next term with what is stored.
func (s *scene) crash() error {
	var entries []registry.Entry
	for _, path := range sortedKeys(s.stored) {
		entries = append(entries, registry.Entry{Path: path, Value: s.stored[path]})
	}
	s.accepts = slices.Delete(s.accepts, 0, len(s.accepts))
	s.core = NewCore(s.opt)
	if err := s.core.Load(s.now, Stored{entries}); err != nil {
		return err
	}
	return s.steps()
}

func (s *scene) cmdRestart(*words) error {
	if err := s.crash(); err != nil {
		return err
	}
	return s.steps(SessionBegan{Session: s.core.session.number, MasterID: "master-1"})
}

func (s *scene) cmdOption(w *words) error {
	s.opt.ExecutorBinary = w.option("binary", s.opt.ExecutorBinary)
	s.opt.FiresPerStep = int(w.number("fires-per-step", float64(s.opt.FiresPerStep)))
	return nil
}

func (s *scene) cmdExplain(w *words) error {
	x, err := s.core.Explain(w.next(), s.now)
	if refused := (*Error)(nil); errors.As(err, &refused) {
		s.say("refused (%s): %s", refused.Code, refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	s.tellExplanation(x)
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

// cmdAnswered answers the question about a task that never was.
func (s *scene) cmdAnswered(w *words) error {
	if len(w.list) > 0 {
		agent, state := w.next(), cluster.State(w.next())
		question := s.core.agent(agent).question
		if question == "" {
			return fmt.Errorf("nothing was asked about agent %s", agent)
		}
		return s.steps(s.told(cluster.Update{TaskID: question, AgentID: agent, State: state, Source: cluster.FromMaster,
			Reason: "REASON_RECONCILIATION", Timestamp: s.now}))
	}
	if s.core.takeover == nil || s.core.takeover.question == "" {
		return errors.New("no question is open")
	}
	return s.steps(s.told(cluster.Update{TaskID: s.core.takeover.question, State: cluster.Unknown, Source: cluster.FromMaster,
		Reason: "REASON_RECONCILIATION", Timestamp: s.now}))
}
