package core

import (
	"encoding/json"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/wire"
)

// besidesDescription is what a call says of a task beside its description: ids, resources, and the executor.
const besidesDescription = 768

// describeTask is what the executor gets of a task.
func (c *Core) describeTask(e *executions.Execution, s *executions.Shard, id string) wire.Task {
	t := c.taskOf(e, s.Item())
	t.TaskID, t.Attempt, t.Source = id, s.Attempt(), string(s.Type())
	if t.Daemon != nil {
		t.Daemon.Rerun = c.daemons.of(e.Job(), s.Item()).Rerun
	}
	return t
}

// describeAll is the encoded part of the descriptions that all tasks of an execution have in common.
func (c *Core) describeAll(e *executions.Execution) wire.Shared {
	return e.SharedDescription(func() wire.Shared {
		encoded, _ := c.taskOf(e, 0).EncodeShared() // strings, numbers and a time can all be written
		return encoded
	})
}

// describedSize is how large the descriptions of an execution's tasks are, or will be with those settings. It is
// reckoned once, as long as the execution's job and app are the same.
func (c *Core) describedSize(e *executions.Execution, with *executions.Settings) executions.Described {
	key := executions.Described{}
	if !e.Launched() {
		j := c.config.Job(e.Job())
		key = executions.Described{Job: j.Config(), App: c.config.App(j.Config().AppName).Version()}
	}
	if d := e.Described(); d.Each > 0 && d.Job == key.Job && d.App == key.App {
		return d
	}
	of := e.With(with)
	shared, longest := len(c.describeAll(of)), 0
	for _, text := range of.Prepare().Parameters() {
		longest = max(longest, len(text))
		if encoded, err := json.Marshal(text); err == nil {
			longest = max(longest, len(encoded))
		}
	}
	executor := len(c.Opt.ExecutorBinary)
	for _, word := range c.Opt.ExecutorCommand {
		executor += len(word)
	}
	for name, value := range c.Opt.ExecutorEnvironment {
		executor += len(name) + len(value)
	}
	key.Each, key.Alike = shared+longest+executor+besidesDescription, shared
	e.KeepDescribed(key)
	return key
}

// tooLarge says that shards of an execution can't be launched since what all that wait are given is too large, if it
// is. Registration refuses such a job, but the script of its app may have grown since, or an earlier release have
// launched some of its shards. Those that run, or have ended, are sent nothing any more.
func (c *Core) tooLarge(e *executions.Execution, with *executions.Settings) reason.Reason {
	n := with.Job.ShardingTotalCount
	if e.Launched() {
		n = e.Waiting()
	}
	each := c.describedSize(e, with).Alike
	if n*each <= c.Opt.RunBytes {
		return reason.Reason{}
	}
	return reason.SettingsTooLarge(e.Launched(), n, jobs.Bytes(each), jobs.Bytes(n*each), jobs.Bytes(c.Opt.RunBytes), e.ID())
}
