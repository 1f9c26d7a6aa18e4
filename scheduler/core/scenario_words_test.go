package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// scene is a stage for scenarios. Lines of text control it, and it reports the decisions of the core as lines of text.
type scene struct {
	*stage
	out strings.Builder
	// stamped makes each reported line begin with the time. It is set while a command lets time pass.
	stamped bool

	names    *scenario.Names               // of tasks, executors, executions and the framework
	tasks    map[string]cluster.TaskLaunch // by name
	lastUUID map[string][]byte             // of the last update of a task, by its id
	updates  int                           // the number of updates, for their UUIDs
	// muted are the types of calls that are not reported until the next begin.
	muted map[reflect.Type]bool
	// audits is set if a scenario is about audit rows. Otherwise they are not reported.
	audits bool
	edits  int64 // the number of external edits, for their versions
}

// newScene returns a scene with a new stage.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{}
	s.begin(t)
	return s
}

// begin replaces the stage by a new one, and forgets all names.
func (s *scene) begin(t testing.TB) {
	t.Helper()
	s.stage = newStage(t)
	s.names = scenario.NewNames()
	s.tasks, s.lastUUID, s.updates = map[string]cluster.TaskLaunch{}, map[string][]byte{}, 0
	s.muted = map[reflect.Type]bool{}
}

// Said returns the lines that were reported since its last call.
func (s *scene) Said() string {
	text := s.out.String()
	s.out.Reset()
	return text
}

// say reports a line, with names instead of ids.
func (s *scene) say(format string, args ...any) {
	if s.stamped {
		s.out.WriteString(s.wall().Format("15:04:05.999") + " ")
	}
	s.out.WriteString(s.names.InWords(fmt.Sprintf(format, args...)) + "\n")
}

// report reports a decision, in the order in which its parts are carried out.
func (s *scene) report(d Decision) {
	started := map[string]bool{} // the executors that this decision starts, by name
	for _, c := range calls[step.CallLaunch](d) {
		for _, l := range c.Launch.Tasks {
			s.tasks[s.names.Called(l.TaskID, fmt.Sprintf("%s/%d#", l.Task.JobName, l.Task.Item))] = l
			name := scenario.ExecutorIDs.ReplaceAllString(l.Executor.ID, "$1#$2")
			if s.names.IDs[name] == "" {
				s.names.IDs[name], started[name] = l.Executor.ID, true
			}
		}
	}
	s.reportWrites(d)
	s.reportHistory(d)
	for _, c := range d.Calls {
		if !s.muted[reflect.TypeOf(c)] {
			s.reportCall(c, started)
		}
	}
	for _, r := range d.Replies {
		switch {
		case r.Err != nil:
			s.say("refused (%s): %s", r.Err.Code, r.Err.Message)
		case r.ExecutionID != "":
			s.say("answer: %s", r.ExecutionID)
		case r.Machine.Machine != "":
			s.reportMachines(r.Machine)
			if r.AttemptsOver > 0 {
				s.say("%s over", problem.Counted(r.AttemptsOver, "attempt"))
			}
		case r.Job.State != "":
			s.say("answer: %s is %s", r.Job.JobName, r.Job.State)
		default:
			s.say("answer: done")
		}
	}
	for _, n := range d.Notifications {
		s.say("NOTIFY by %s: %s of %s failed, first item %d: %s; further failures: %d", n.Job.JobErrorHandlerType,
			problem.Counted(n.FailedShards, "shard"), n.Execution, n.Shards[0].Item, n.Shards[0].Cause, n.Further)
		for _, o := range n.Others {
			s.say("  with %s of %s; further failures: %d", problem.Counted(o.FailedShards, "shard"), o.Execution,
				o.Further)
		}
	}
	counts := map[string]int{}
	for _, n := range d.Notes {
		key := fmt.Sprintf("%s, %s", n.Kind, n.Job)
		if counts[key]++; counts[key] > 3 {
			continue // only counted, below
		}
		about := cmp.Or(n.Task, n.Execution, n.Job)
		if about != "" && n.Text() != "" {
			about += ": "
		}
		s.say("note, %s: %s", n.Kind, about+n.Text())
	}
	for _, key := range step.SortedKeys(counts) {
		if n := counts[key]; n > 3 {
			s.say("… and %d more of %s", n-3, key)
		}
	}
	if d.Drained {
		s.say("DRAINED")
	}
}

// reportAudits reports the written audit rows, if the scenario is about them, and returns the other writes.
func (s *scene) reportAudits(writes []registry.Write) (others []registry.Write) {
	for _, w := range writes {
		dir, number := store.Split(w.Path)
		if dir != store.PathAudit {
			others = append(others, w)
			continue
		}
		var row event.Audit
		switch {
		case !s.audits:
		case w.Delete:
			s.say("FORGET audit %s", number)
		case json.Unmarshal(w.Value, &row) != nil:
			s.t.Fatalf("an audit row is no JSON: %s", w.Value)
		default:
			s.say("AUDIT %s by %q (%s) from %q: %s %s %s of app %q: %s → %s", number, row.Name, row.Kind, row.From,
				row.Action, row.Target, row.TargetName, row.App,
				cmp.Or(row.Before, "-"), cmp.Or(row.After, "-"))
		}
	}
	return others
}

// reportWrites reports the paths that a decision writes and deletes, and the audit rows.
func (s *scene) reportWrites(d Decision) {
	var put, deleted []string
	for _, w := range s.reportAudits(d.Writes) {
		_, path, _ := strings.Cut(w.Path[1:], "/")
		path = s.names.InWords(strings.Replace(path, "/", " ", 1))
		if w.Delete {
			deleted = append(deleted, path)
		} else {
			put = append(put, path)
		}
	}
	if len(put) > 0 {
		s.say("WRITE %s", scenario.Shorten(put))
	}
	if len(deleted) > 0 {
		s.say("DELETE %s", scenario.Shorten(deleted))
	}
}

// mutable has the calls that a scenario can mute because it is not about them, by their names in Mesos.
var mutable = map[string]step.Call{"RECONCILE": step.CallReconcile{}, "REVIVE": step.CallRevive{},
	"SUPPRESS": step.CallSuppress{}, "DECLINE": step.CallDecline{}}

// reportCall reports a call. started has the names of the executors that the decision starts and that were not reported
// yet.
func (s *scene) reportCall(c step.Call, started map[string]bool) {
	switch c := c.(type) {
	case step.CallSubscribe:
		s.say("SUBSCRIBE as %s", c.FrameworkID)
	case step.CallLaunch:
		s.say("ACCEPT %s of %s", strings.Join(c.Launch.OfferIDs, ", "), c.Launch.AgentID)
		for i, l := range c.Launch.Tasks {
			if n := len(c.Launch.Tasks); n > 6 && i > 1 && i < n-1 {
				if i == 2 {
					s.say("  … %d more …", n-3)
				}
				continue
			}
			s.say("  LAUNCH %s", s.describeLaunch(l, started))
		}
	case step.CallDecline:
		s.say("DECLINE %s for %s", strings.Join(c.Offers, ", "), c.Refuse)
	case step.CallKill:
		grace := ""
		if c.Kill.Grace != s.opt.KillGrace {
			grace = fmt.Sprintf(" within %s", c.Kill.Grace)
		}
		s.say("KILL %s on %s%s", c.Kill.TaskID, c.Kill.AgentID, grace)
	case step.CallShutdown:
		s.say("SHUTDOWN %s on %s", c.ExecutorID, c.AgentID)
	case step.CallReconcile:
		list := make([]string, len(c.Tasks))
		for i, ref := range c.Tasks {
			list[i] = s.names.InWords(ref.TaskID)
		}
		slices.Sort(list)
		s.say("RECONCILE %s", cmp.Or(scenario.Shorten(list), "everything"))
	case step.CallAcknowledge:
		s.say("ACKNOWLEDGE %s", c.Ack.TaskID)
	case step.CallRevive:
		s.say("REVIVE")
	case step.CallSuppress:
		s.say("SUPPRESS")
	default:
		s.t.Fatalf("no words for %T", c)
	}
}

// describeLaunch describes the launch of a task. It removes the executor of the task from started.
func (s *scene) describeLaunch(l cluster.TaskLaunch, started map[string]bool) string {
	task := &l.Task
	text := fmt.Sprintf("%s of %s on executor %s", l.TaskID, task.ExecutionID, l.Executor.ID)
	if name := s.names.InWords(l.Executor.ID); started[name] {
		delete(started, name)
		text += " (new)"
	}
	if l.Executor.BinaryURI != "" {
		text += " from " + l.Executor.BinaryURI
	}
	if task.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d, %s", task.Attempt, task.Source)
		if task.Daemon == nil {
			text += ", fired " + task.FireTime.Format("15:04:05.999")
		} else if !task.Daemon.Rerun.IsZero() {
			text += ", runs the fire of " + task.Daemon.Rerun.Format("15:04:05.999") + " again"
		}
	}
	if task.JobParameter != "" {
		text += fmt.Sprintf(", parameter %q", task.JobParameter)
	}
	return text
}

// reportExplanation reports the explanation of a job. Consecutive shards with the same reason are one line.
func (s *scene) reportExplanation(x views.Explanation) {
	s.say("%s is %s", x.JobName, x.State)
	for i := 0; i < len(x.Waiting); {
		first := x.Waiting[i]
		last := first.Item
		for i++; i < len(x.Waiting) && x.Waiting[i].ExecutionID == first.ExecutionID &&
			x.Waiting[i].Reason == first.Reason; i++ {
			last = x.Waiting[i].Item
		}
		items := fmt.Sprint("item ", first.Item)
		if last != first.Item {
			items = fmt.Sprintf("items %d to %d", first.Item, last)
		}
		s.say("  waits: %s, %s: %s", first.ExecutionID, items, first.Reason)
	}
	for _, r := range x.Running {
		progress := ""
		if p := r.Progress; p != nil {
			progress = fmt.Sprintf(", %g of it done: %s", p.Fraction, p.Message)
		}
		if r.Reason != "" {
			progress += ": " + r.Reason
		}
		s.say("  runs: %s, %s as %s%s", r.ExecutionID, r.State, r.TaskID, progress)
	}
	for i, n := range x.Notes {
		s.say("  note: %s", n)
		if j := s.core.config.Job(x.JobName); x.NoteReasons[i].Code == string(reason.PlainText) &&
			!slices.Contains(j.Notes(), n) {
			s.t.Errorf("a note has no code although it is not about a document: %s", n)
		}
	}
	if r := x.LastRun; r != nil && r.State != executions.Finished {
		s.say("  last run: %s %s: %s", r.ExecutionID, r.State, r.Reason)
	}
	if f := x.DroppedFires; f != nil {
		s.say("  fires dropped: %d; %s", f.Count, f.Reason)
	}
	if f := x.MissedFires; f != nil {
		s.say("  times of missed fires: %d; %s", f.Count, f.Reason)
	}
	if len(x.NextFires) > 0 {
		s.say("  next fire: %s", x.NextFires[0].Format(time.RFC3339))
	}
}

// reportExecutions reports the last three ended executions of a job, all its open ones, and their launched shards.
func (s *scene) reportExecutions(job string) {
	var ids []string
	for e := range s.core.executions.AllEnded() {
		if e.Job() == job {
			ids = append(ids, e.ID())
		}
	}
	if older := len(ids) - 3; older > 0 {
		s.say("(%d that ended before)", older)
		ids = ids[older:]
	}
	if j := s.core.config.Job(job); j != nil {
		for _, e := range s.core.executions.Queue(j.Name()) {
			ids = append(ids, e.ID())
		}
	}
	for _, id := range ids {
		v := s.execution(id)
		reason := v.Reason
		if reason != "" {
			reason = ": " + reason
		}
		s.say("%s (%s) %s%s", v.ExecutionID, v.Source, v.State, reason)
		for _, shard := range v.Shards {
			if shard.Attempt == 0 {
				continue
			}
			text := fmt.Sprintf("  item %d %s, attempt %d on %s", shard.Item, shard.State, shard.Attempt, shard.Agent)
			if shard.ExitStatus != nil {
				text += fmt.Sprintf(", exit status %d", *shard.ExitStatus)
			}
			if shard.FailureCause != "" {
				text += ": " + shard.FailureCause
			}
			s.say("%s", text)
		}
	}
}
