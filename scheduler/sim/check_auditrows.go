package sim

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// configured returns the expected rows of a change of configuration.
func (a *audits) configured(writes []registry.Write) (rows []string) {
	documents := map[string]bool{} // the changed documents: their rows include the changes of their marks
	for _, wr := range writes {
		switch dir, name := splitPath(wr.Path); dir {
		case pathApps, pathJobs:
			documents[strings.TrimPrefix(dir, "/config/")+name] = true
			doc := ""
			if !wr.Delete {
				doc, _ = usable(wr.Path, wr.Value)
			}
			if what := a.documentRow(wr.Path, doc); what != "" {
				rows = append(rows, what)
			}
			a.setDocument(wr.Path, doc)
		}
	}
	for _, wr := range writes {
		switch dir, name := splitPath(wr.Path); dir {
		case pathAppDisabled, pathJobDisabled:
			now := ""
			if !wr.Delete {
				now = markAt(wr.Path, wr.Value)
			}
			if a.marks[wr.Path] != now && !documents[strings.TrimPrefix(dir, "/state/disable/")+name] {
				rows = append(rows, markRow(dir, name, now))
			}
			a.marks[wr.Path] = now
		}
	}
	return rows
}

// drainEnds reports whether a write of a machine's mark changes only the fact that the machine is drained.
func drainEnds(w *world, wr *registry.Write) bool {
	var mark, was map[string]any
	_ = json.Unmarshal(wr.Value, &mark)
	_ = json.Unmarshal(w.cordons.stored[wr.Path], &was)
	drained := mark["drained"] != was["drained"]
	// A leader whose clock is behind replaces times in the future by the time of its election.
	for _, field := range []string{"drained", "since", "draining", "deadline"} {
		delete(mark, field)
		delete(was, field)
	}
	return drained && reflect.DeepEqual(mark, was)
}

// checkOperated compares the rows of an ordinary commit with its changes. Each change must have its row, and each row
// its change. Exceptions are rows of reconciliations, which leave no other trace, and rows of kills and pauses whose
// effect ends in the same commit.
func (a *audits) checkOperated(writes []registry.Write, rows []string, pausing map[string][]string) {
	w, check := a.w, a.w.check
	left := map[string]int{} // how many of each row have no change yet
	for _, row := range rows {
		left[row]++
	}
	must := func(row string) { // a change requires this row
		if left[row]--; left[row] < 0 {
			w.fail("A1 what people do leaves a row", "%s", row)
		}
	}
	gone := map[string]bool{}
	for i := range writes {
		wr := &writes[i]
		dir, name := splitPath(wr.Path)
		killed := bytes.Contains(wr.Value, []byte(reason.KilledOnRequest))
		switch {
		case dir == pathOrphan && wr.Delete:
			gone[name] = true
		case dir == pathMachine:
			// A cordon that ends by itself has no row.
			if until, was := w.cordons.marked[name]; left["machine.dead "+name] > 0 {
				delete(left, "machine.dead "+name)
				delete(left, "machine.drain "+name) // just before, in the same commit
			} else if left["machine.drain "+name] > 0 {
				delete(left, "machine.drain "+name)
			} else if !wr.Delete {
				if bytes.Contains(wr.Value, []byte(`"flapping"`)) {
					w.count(MachineFlaps) // the server cordons it
				} else if !drainEnds(w, wr) {
					must("machine.cordon " + name)
				}
			} else if was && until.IsZero() && left["machine.cordon "+name] == 0 {
				must("machine.uncordon " + name)
			}
			delete(left, "machine.cordon "+name)
			delete(left, "machine.uncordon "+name)
		case dir == pathJobState:
			delete(left, "job.pause "+name)
			delete(left, "job.resume "+name)
			a.checkPaused(name, wr, pausing[name])
		case dir == pathExecution && (killed || !check.ever[name]) && !wr.Delete:
			var r record
			_ = json.Unmarshal(wr.Value, &r)
			if !check.ever[name] && r.Source == string(executions.Triggered) && !strings.Contains(name, "@import-") {
				must("job.trigger " + name)
			}
			if was := check.execs[name]; r.Kill.Is(reason.KilledOnRequest) &&
				(was == nil || !was.Kill.Is(reason.KilledOnRequest)) {
				must("execution.kill " + name)
			}
			a.checkKilled(name, r.Shards, must)
		case killed && strings.HasPrefix(dir, pathShards+"/"):
			var part []shardRecord
			_ = json.Unmarshal(wr.Value, &part)
			a.checkKilled(dir[len(pathShards)+1:], part, must)
		}
	}
	for _, row := range slices.Sorted(maps.Keys(left)) {
		action, name, _ := strings.Cut(row, " ")
		switch {
		case left[row] == 0, action == "cluster.reconcile", action == "task.kill" && check.live[name] != "",
			// An exclusive attempt without a lease may be forgotten while it counts as live (rule K5).
			action == "task.forget" && (gone[name] || check.live[name] != ""), action == "user.add",
			action == "machine.dead": // it may be declared dead again
		default:
			w.fail("A1 a row tells of what has happened", "%s, %d times", row, left[row])
		}
	}
}

// checkKilled checks the rows of tasks whose kill is requested in this commit for the first time.
func (a *audits) checkKilled(execution string, now []shardRecord, must func(string)) {
	before := map[string]reason.Reason{}
	if e := a.w.check.execs[execution]; e != nil {
		e.eachShard(func(s shardRecord) { before[s.TaskID] = s.Kill })
	}
	for _, s := range now {
		if was, known := before[s.TaskID]; known && s.Kill.Is(reason.KilledOnRequest) &&
			!was.Is(reason.KilledOnRequest) {
			must("task.kill " + s.TaskID)
		}
	}
}

// checkPaused checks that the rows of a job's pauses and resumptions lead from the paused state before the commit to
// the paused state after it. A pause also ends, without a row of its own, when the job is disabled or deleted, or when
// a disabled mark was set before this commit. If the job's record is removed, the job's deletion follows these rows.
func (a *audits) checkPaused(job string, wr *registry.Write, rows []string) {
	var now struct{ Paused bool }
	_ = json.Unmarshal(wr.Value, &now)
	was := a.w.check.job(job).paused && a.w.check.job(job).stored
	is, taken := was, false
	for _, row := range rows {
		switch row {
		case "job.pause", "job.resume":
			if is == (row == "job.pause") {
				a.w.fail("A1 what changes nothing leaves no row", "%s: paused %v before, rows %q", job, was, rows)
			}
			is, taken = !is, true
		default:
			is, taken = false, taken && row != "job.delete"
		}
	}
	switch {
	case wr.Delete && !taken, is == now.Paused && !wr.Delete, is && a.marks[pathJobDisabled+"/"+job] != "" &&
		!wr.Delete:
	default:
		a.w.fail("A1 a pause has its row", "%s: paused %v before, %v now, removed %v, with rows %q", job, was,
			now.Paused, wr.Delete, rows)
	}
}
