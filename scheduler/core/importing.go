package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// What waits in the original's queues becomes our executions: the commit that writes them
// deletes the original's entries.

// loadQueue takes an entry below /state/ready, /state/failover or /state/running.
// What only holds a job's entries together has no value.
func (c *Core) loadQueue(e registry.Entry) bool {
	for _, dir := range []string{store.PathReady, store.PathFailover, store.PathRunning} {
		rest, ok := strings.CutPrefix(e.Path, dir+"/")
		if !ok {
			continue
		}
		job, item, _ := strings.Cut(rest, "/")
		c.imports.found = append(c.imports.found, importEntry{e.Path, job, item, string(e.Value)})
		return true
	}
	return false
}

// importQueues makes executions of what the original left.
func (c *Core) importQueues() {
	entries := c.imports.found
	c.imports.found = nil
	lost := map[string][]importEntry{}
	var folders []string
	left := map[string]bool{} // jobs of which an entry stays
	for _, e := range entries {
		var err error
		switch {
		case strings.HasPrefix(e.path, store.PathReady+"/"):
			err = c.importReady(e)
		case e.item == "":
			folders = append(folders, e.path)
			continue
		case strings.HasPrefix(e.path, store.PathFailover+"/"):
			if err = c.importable(e.job); err == nil && c.config.Job(e.job).IsDaemon() {
				c.imports.took(e.path)
			} else if err == nil {
				lost[e.job] = append(lost[e.job], e)
			}
		default:
			c.importRunning(e)
			continue
		}
		if err != nil {
			c.leaveEntry(e, err, left)
		}
	}
	for _, job := range step.SortedKeys(lost) {
		c.importFailover(job, lost[job], left)
	}
	for _, path := range folders {
		switch {
		case left[path]:
		case c.subscription.TakingOver() && strings.HasPrefix(path, store.PathRunning+"/"):
			c.subscription.ImportRunning(path, "")
		default:
			c.imports.took(path)
		}
	}
}

// importMoment is the fire time of what is imported.
func (c *Core) importMoment() time.Time { return c.Wall().Truncate(time.Millisecond) }

func (c *Core) leaveEntry(e importEntry, err error, left map[string]bool) {
	dir, _ := store.Split(e.path)
	left[dir] = true
	c.Note(step.Note{Kind: step.NoteImport, Job: e.job, Problem: true, Detail: fmt.Sprintf("%s is left as it is: %v", e.path, err)})
}

// importable says why entries of a job can't be run.
func (c *Core) importable(job string) error {
	j := c.config.Job(job)
	switch {
	case c.config.HasFault(store.Under(store.PathJobs, job)):
		return fmt.Errorf("the job's document can't be used: %s", c.config.FaultAt(store.Under(store.PathJobs, job)).Why())
	case j == nil || j.Config() == nil:
		return fmt.Errorf("there is no job %q", job)
	case c.config.App(j.Config().AppName) == nil:
		return errors.New(c.config.InactiveReason(j).String())
	}
	return nil
}

// importReady makes the runs of a job that wait: as many as its counter says with misfire, else one.
func (c *Core) importReady(e importEntry) error {
	if err := c.importable(e.job); err != nil {
		return err
	}
	if c.config.Job(e.job).IsDaemon() {
		c.imports.took(e.path) // it meant a shard to be placed, and all are
		return nil
	}
	times, err := strconv.Atoi(strings.TrimSpace(e.value))
	if err != nil || times < 1 {
		return fmt.Errorf("%q is no number of runs", e.value)
	}
	j, source := c.config.Job(e.job), executions.Misfired
	if !j.Config().Misfire {
		times, source = 1, executions.NormalTrigger
	}
	if times > c.Opt.QueuedFires {
		c.Note(step.Note{Kind: step.NoteImport, Job: e.job, Problem: true, Detail: fmt.Sprintf("of %d runs that waited, %d are taken over: more may not wait (rule F5)", times, c.Opt.QueuedFires)})
		times = c.Opt.QueuedFires
	}
	for n := range times {
		c.executions.Imported(executions.Made{ID: fmt.Sprintf("%s-%03d", c.importID(e.job), n+1), Job: e.job, Fire: c.importMoment(), Source: source})
	}
	c.imports.took(e.path)
	return nil
}

// importID is what the ids of a job's imported executions begin with.
func (c *Core) importID(job string) string {
	return job + "@import-" + c.importMoment().Format("20060102T150405.000Z")
}

// importFailover makes one execution of the shards of a job that were lost. The others of
// it came to their end under the original.
func (c *Core) importFailover(job string, entries []importEntry, left map[string]bool) {
	j := c.config.Job(job)
	lost, shards := map[int]string{}, j.Config().ShardingTotalCount
	for _, entry := range entries {
		name, text, ok := strings.Cut(entry.item, "@-@")
		item, err := strconv.Atoi(text)
		switch {
		case !ok || err != nil || name != job:
			c.leaveEntry(entry, fmt.Errorf("%q names no shard of the job", entry.item), left)
			continue
		case item < 0 || item >= shards:
			c.leaveEntry(entry, fmt.Errorf("the job has %d shards", shards), left)
			continue
		}
		lost[item] = entry.value
		c.imports.took(entry.path)
	}
	if len(lost) == 0 {
		return
	}
	e := executions.Made{ID: c.importID(job) + "-failover", Job: job, Fire: c.importMoment(), Source: executions.FailoverSource}
	with := &executions.Settings{App: *c.config.App(j.Config().AppName).Config(), Job: j.Config().WithoutNotifications()}
	c.executions.ImportedLost(e, with, lost, c.importMoment())
}

// importRunning: a task of a daemon of the original is another's (rule T8). Under a
// framework id that this scheduler made there can be none.
func (c *Core) importRunning(e importEntry) {
	if !c.subscription.TakingOver() {
		c.imports.took(e.path)
		return
	}
	c.subscription.ImportRunning(e.path, e.value)
}
