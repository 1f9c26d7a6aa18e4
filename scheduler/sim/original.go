package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/registry"
)

// theirFramework is the framework id of the original, which is ElasticJob-Cloud.
const theirFramework = "2f5a5d3e-original-0001"

// original makes the world begin in a namespace of the original: with its documents, its queues, its framework id, and
// tasks that it left running (rule T8). It is called before the first leader.
func (w *world) original() {
	w.count(ForeignFramework)
	w.store.put("/ha/framework_id", []byte(theirFramework))
	for _, name := range w.users.apps {
		w.put(pathApps+"/"+name, w.users.app(name))
	}
	for _, name := range w.users.jobs {
		if w.rng.IntN(3) == 0 {
			continue
		}
		cfg := w.users.job(name)
		if cfg.CPUCount == neverCPUs { // jobs that were launched under the original did fit
			cfg.CPUCount = 0.01
		}
		w.put(pathJobs+"/"+name, cfg)
		switch w.rng.IntN(3) {
		case 0:
			w.count(ImportedQueue)
			w.store.put("/state/ready/"+name, fmt.Append(nil, 1+w.rng.IntN(3)))
		case 1:
			w.count(ImportedQueue)
			w.store.put("/state/failover/"+name, nil)
			item := w.rng.IntN(cfg.ShardingTotalCount)
			w.store.put(fmt.Sprintf("/state/failover/%s/%s@-@%d", name, name, item),
				fmt.Appendf(nil, "%s@-@%d@-@READY@-@S1@-@aaaaaaaa-0000-4000-8000-000000000001", name, item))
		}
	}
	remembers := w.rng.IntN(2) == 0
	for _, a := range w.agents {
		w.leaveTasks(a, remembers)
		if remembers {
			w.master.recovering[a.id] = true
		}
		if w.rng.IntN(5) == 0 { // the agent is away when the first leader of this scheduler begins
			a.cut = true
			w.after(w.between(time.Second, 15*time.Minute), a.repair)
		}
	}
	w.master.awaitAgents()
}

// put stores a document that existed before the first leader of this scheduler.
func (w *world) put(path string, document any) {
	data := w.encode(document)
	w.store.put(path, data)
	w.check.apply(&registry.Write{Path: path, Value: data})
}

func (w *world) encode(document any) []byte {
	data, err := json.Marshal(document)
	if err != nil {
		w.fail("documents can be written", "%+v: %v", document, err)
	}
	return data
}

// leaveTasks starts the original's tasks on an agent. remembered says whether the master knows the agent. If not, it
// cannot report the tasks before the agent is back, and shards that begin before that run beside them.
func (w *world) leaveTasks(a *agent, remembered bool) {
	for n := range w.rng.IntN(3) {
		job, _ := pick(w, w.users.jobs)
		item := w.rng.IntN(3)
		x := &executor{ready: true, info: cluster.Executor{ID: fmt.Sprintf("app%d@-@%s", n, a.id),
			Framework: theirFramework, Resources: resources.New(0.05, 32)}}
		if a.executors[x.info.ID] != nil {
			continue
		}
		a.executors[x.info.ID] = x
		id := fmt.Sprintf("%s@-@%d@-@READY@-@%s@-@bbbbbbbb-0000-4000-8000-%012d", job, item, a.id, n)
		t := &task{a: a, executor: x.info.ID, state: cluster.Running, reported: cluster.Running,
			launch: cluster.TaskLaunch{TaskID: id, Executor: x.info, Resources: resources.New(0.05, 32)}}
		t.process = &process{task: id, job: job, item: item, agent: a.id, ofOriginal: true, failover: true,
			wasAway: !remembered}
		a.tasks[id] = t
		if w.rng.IntN(2) == 0 {
			p := t.process
			w.after(w.between(time.Second, 10*time.Minute), func() {
				if t.process == p && !p.lingers {
					a.processEnds(t)
					a.reportFromExecutor(t, cluster.Finished, "")
				}
			})
		}
		w.count(ForeignTask)
		w.check.recordUnknownTask(t.process)
	}
}

// recordUnknownTask records a process of the original. The original may run two processes of a shard, which the checks
// ignore.
func (c *checker) recordUnknownTask(p *process) {
	key := shardOf{p.job, p.item}
	c.running[key] = append(c.running[key], p)
	c.ofOriginal[p] = true
}

// masterForgot handles the election of a master without memory, which cannot report the tasks on agents that are not
// back yet.
func (c *checker) masterForgot() {
	for p := range c.ofOriginal {
		p.wasAway = true
	}
}

// checkTakenOver checks that no process of this scheduler begins while a task of the original runs that the cluster
// could report (rule T8).
func (c *checker) checkTakenOver(ours *process) {
	for p := range c.ofOriginal {
		if !p.wasAway && !p.lingers && !p.removed {
			c.w.fail("T8 nothing is launched before what another scheduler left has ended",
				"%s begins on %s while %s runs on %s", ours.task, ours.agent, p.task, p.agent)
		}
	}
}
