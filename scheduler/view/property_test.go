package view_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// TestRowsAfterAnything: after any events, rows that were kept up to date equal rows that are read again, the sums of
// an overview are those of the list, and pages have each row once, in the order of the list.
func TestRowsAfterAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{rnd: rand.New(rand.NewPCG(seed, 0)), tasks: map[string]string{}}
			docs := []any{anApp("a"), anApp("b")}
			for i := range 6 {
				docs = append(docs, w.document(fmt.Sprint("job", i)))
			}
			w.stage = newStage(t, docs...)
			w.subscribed()
			for range 60 {
				w.happens()
				w.check()
			}
		})
	}
}

// world makes random events for a stage.
type world struct {
	*stage
	rnd     *rand.Rand
	session int64
	tasks   map[string]string // executors of the launched tasks
}

func (w *world) document(name string) jobs.Config {
	j := aJob(name, []string{"a", "b"}[w.rnd.IntN(2)])
	j.ShardingTotalCount = 1 + w.rnd.IntN(3)
	if w.rnd.IntN(3) == 0 {
		j.Cron = "0/10 * * * * ?"
	}
	return j
}

func (w *world) happens() {
	name := fmt.Sprint("job", w.rnd.IntN(8)) // two that are not there at first
	w.now = w.now.Add(time.Duration(w.rnd.IntN(4)) * time.Second)
	session := w.session + 1
	switch w.rnd.IntN(12) {
	case 0, 1, 2:
		w.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: name}})
	case 3:
		w.step(config.JobChanged{Name: name})
	case 4:
		doc := w.document(name)
		w.step(config.JobChanged{Name: name, Config: &doc, Version: int64(w.now.Unix()), Disabled: w.rnd.IntN(4) == 0})
	case 5:
		doc := anApp("b")
		w.step(config.AppChanged{Name: "b", Config: &doc, Version: int64(w.now.Unix()), Disabled: w.rnd.IntN(3) == 0})
	case 6:
		w.step(core.Request{Token: 1, Event: operator.PauseRequested{Job: name, Paused: w.rnd.IntN(2) == 0}})
	case 7:
		if w.rnd.IntN(3) == 0 {
			w.step(core.SessionEnded{Session: session, Reason: "cut"})
			w.session++
			w.now = w.now.Add(time.Second)
			w.step(core.SessionBegan{Session: session + 1, MasterID: "m"})
		}
	case 8:
		w.step(config.DocumentFaulty{Path: "/config/job/" + name, Why: reason.FromText("it is no JSON"),
			Version: int64(w.now.Unix())})
	case 9:
		w.step(core.ClusterEvent{Session: session,
			Event: cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("r", w.now.UnixNano(), w.rnd.Uint32()),
				AgentID:  "S1",
				Hostname: "h1", AgentURL: "http://h1:5051", Resources: resources.New(4, 4096)}}}})
	default:
		for task, executor := range w.tasks {
			state := []cluster.State{cluster.Running, cluster.Finished, cluster.Failed,
				cluster.Unreachable}[w.rnd.IntN(4)]
			w.step(core.ClusterEvent{Session: session,
				Event: cluster.Update{TaskID: task, AgentID: "S1", ExecutorID: executor, State: state,
					Source: cluster.FromExecutor, UUID: fmt.Append(nil, w.rnd.Uint64()), Timestamp: w.now}})
			if state == cluster.Finished || state == cluster.Failed {
				delete(w.tasks, task)
			}
			break
		}
	}
	if l := launches(w.last); l != nil {
		for _, task := range l.Launch.Tasks {
			w.tasks[task.TaskID] = task.Executor.ID
		}
	}
}

func (w *world) check() {
	w.t.Helper()
	fresh := &stage{t: w.t, now: w.now, Jobs: view.New(w.read)}
	for _, scope := range []explain.Scope{explain.All(), of("b")} {
		kept, errKept := w.Overview(w.t.Context(), scope, w.now)
		read, errRead := fresh.Overview(w.t.Context(), scope, w.now)
		if errKept != nil || errRead != nil || text(kept.Summary.Jobs) != text(read.Summary.Jobs) ||
			text(kept.Problems) != text(read.Problems) {
			w.t.Fatalf("after %+v: kept %s %v, read again %s %v", w.last.Changed, text(kept), errKept, text(read),
				errRead)
		}
		if kept, again := w.pageFor(scope, view.Query{Sort: view.ByNextFire}),
			fresh.pageFor(scope, view.Query{Sort: view.ByNextFire}); namesOf(kept) != namesOf(again) {
			w.t.Fatalf("by the next fire: kept %s, read again %s", namesOf(kept), namesOf(again))
		}
		list := w.pageFor(scope, view.Query{})
		if again := fresh.pageFor(scope, view.Query{}); text(list) != text(again) {
			w.t.Fatalf("after %+v: kept %s, read again %s", w.last.Changed, text(list), text(again))
		}
		running, byState := 0, map[string]int{}
		for i := range list.Rows {
			running += list.Rows[i].Running
			byState[list.Rows[i].State]++
		}
		if s := kept.Summary; s.RunningShards != running || text(s.Jobs) != text(byState) ||
			text(list.ByState) != text(byState) || list.Total != len(list.Rows) {
			w.t.Fatalf("the overview says %s, the list %s of %d", text(s), text(list.ByState), list.Total)
		}
		order := view.Query{Sort: []view.Sort{view.ByApp, view.ByState, view.ByLastRun,
			view.ByFailures}[w.rnd.IntN(4)], Descending: w.rnd.IntN(2) == 0}
		all, paged := w.pageFor(scope, order), []view.Row{}
		for order.Page, order.PerPage = 1, 3; order.Page <= 3; order.Page++ {
			paged = append(paged, w.pageFor(scope, order).Rows...)
		}
		if text(all.Rows) != text(paged) {
			w.t.Fatalf("%+v: %s in pages, %s in one", order, text(paged), text(all.Rows))
		}
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
