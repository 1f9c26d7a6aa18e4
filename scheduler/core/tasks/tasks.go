package tasks

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/wire"
)

// tasks says what executors are sent of the tasks of an execution, and how large that is.
type Describer struct {
	*state.State
	// rerun is the fire of a daemon's shard that is to be run again, zero without one.
	rerun func(job string, item int) time.Time
}

func New(s *state.State, rerun func(job string, item int) time.Time) *Describer {
	return &Describer{s, rerun}
}

// taskOf is what of a task's description is the same for all attempts with the present settings.
func (ts *Describer) Task(e *executions.Execution, item int) wire.Task {
	cfg, a, shared := &e.Settings().Job, &e.Settings().App, e.Prepare()
	t := wire.Task{
		ExecutionID: e.ID(), JobName: e.Job(), Item: item, Total: e.NumShards(),
		JobParameter: cfg.JobParameter, ShardingParameter: shared.Parameters()[item], FireTime: e.Fire().UTC(),
		Package: wire.Package{URL: a.AppURL, SHA256: a.AppSHA256, Cache: a.AppCacheEnable},
		AppName: a.AppName, Env: shared.Env().Texts, EnvFiles: shared.Env().Files, EnvVariables: shared.Env().Variables, Props: shared.Props(), Secrets: shared.Env().Secrets,
		Command: shared.Command(), PlainCommand: !cfg.ContextArgument(), KillGraceMillis: ts.Executions.KillGrace(e).Milliseconds(),
	}
	if r, ok := cfg.HTTP(); ok {
		t.HTTP = &wire.HTTP{URL: r.URL, Method: r.Method, Data: r.Data, ContentType: r.ContentType,
			ConnectTimeoutMillis: r.ConnectTimeout, ReadTimeoutMillis: r.ReadTimeout}
		t.Package, t.Command, t.PlainCommand = wire.Package{}, nil, false
	}
	if e.Daemon() {
		t.FireTime, t.Daemon = time.Time{}, ts.daemonOf(cfg, a)
	}
	return t
}

// daemonOf is what an executor has to know to fire a daemon's shard.
func (ts *Describer) daemonOf(cfg *jobs.Config, a *app.Config) *wire.Daemon {
	zone, err := jobs.Zone(*cfg, ts.Opt.Zone)
	if err != nil {
		zone = time.UTC // its cron can't be read either
	}
	first, _ := ts.Executions.RetryBackoff(cfg)
	return &wire.Daemon{
		Cron: cfg.Cron, TimeZone: zone.String(), Misfire: cfg.Misfire, SamplingCount: a.EventTraceSamplingCount, Failover: cfg.Failover,
		Concurrency: cfg.JobExecutorServiceHandlerType, TimeoutMillis: int64(cfg.TimeoutSeconds) * 1000,
		MaxRetries: cfg.MaxRetries, RetryBackoffMillis: first.Milliseconds(),
	}
}

// settingsPrint is the fingerprint of all that a launch of a shard would have.
func (ts *Describer) Fingerprint(e *executions.Execution, item int) string {
	t := ts.Task(e, item)
	if e.Settings().Job.Prop(jobs.PropScript) == "" {
		t.PlainCommand = false // as in fingerprints of earlier releases: an update of the scheduler replaces no daemon
	}
	return store.Fingerprint(string(store.Encode([]any{t, e.Settings().Job.Resources(), e.Prepare().ExecutorKey()})))
}

// besidesDescription is what a call says of a task beside its description: ids, resources, and the executor.
const besidesDescription = 768

// describeTask is what the executor gets of a task.
func (ts *Describer) Describe(e *executions.Execution, s *executions.Shard, id string) wire.Task {
	t := ts.Task(e, s.Item())
	t.TaskID, t.Attempt, t.Source = id, s.Attempt(), string(s.Type())
	if t.Daemon != nil {
		t.Daemon.Rerun = ts.rerun(e.Job(), s.Item())
	}
	return t
}

// describeAll is the encoded part of the descriptions that all tasks of an execution have in common.
func (ts *Describer) Common(e *executions.Execution) wire.Shared {
	return e.SharedDescription(func() wire.Shared {
		encoded, _ := ts.Task(e, 0).EncodeShared() // strings, numbers and a time can all be written
		return encoded
	})
}

// describedSize is how large the descriptions of an execution's tasks are, or will be with those settings. It is
// reckoned once, as long as the execution's job and app are the same.
func (ts *Describer) Size(e *executions.Execution, with *executions.Settings) executions.Described {
	key := executions.Described{}
	if !e.Launched() {
		j := ts.Config.Job(e.Job())
		key = executions.Described{Job: j.Config(), App: ts.Config.App(j.Config().AppName).Version()}
	}
	if d := e.Described(); d.Each > 0 && d.Job == key.Job && d.App == key.App {
		return d
	}
	of := e.With(with)
	shared, longest := len(ts.Common(of)), 0
	for _, text := range of.Prepare().Parameters() {
		longest = max(longest, len(text))
		if encoded, err := json.Marshal(text); err == nil {
			longest = max(longest, len(encoded))
		}
	}
	executor := len(ts.Opt.ExecutorBinary)
	for _, word := range ts.Opt.ExecutorCommand {
		executor += len(word)
	}
	for name, value := range ts.Opt.ExecutorEnvironment {
		executor += len(name) + len(value)
	}
	key.Each, key.Alike = shared+longest+executor+besidesDescription, shared
	e.KeepDescribed(key)
	return key
}

// tooLarge says that shards of an execution can't be launched since what all that wait are given is too large, if it
// is. Registration refuses such a job, but the script of its app may have grown since, or an earlier release have
// launched some of its shards. Those that run, or have ended, are sent nothing any more.
func (ts *Describer) TooLarge(e *executions.Execution, with *executions.Settings) reason.Reason {
	n := with.Job.ShardingTotalCount
	if e.Launched() {
		n = e.Waiting()
	}
	each := ts.Size(e, with).Alike
	if n*each <= ts.Opt.RunBytes {
		return reason.Reason{}
	}
	return reason.SettingsTooLarge(e.Launched(), n, jobs.Bytes(each), jobs.Bytes(n*each), jobs.Bytes(ts.Opt.RunBytes), e.ID())
}
