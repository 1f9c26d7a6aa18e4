// Package tasks describes the tasks of an execution to their executors: settings, command, environment, package and
// schedule. It also computes the size of a description in a call. It owns no state; sizes are cached with their
// execution. Package placement decides which tasks are launched.
package tasks

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Describer makes the descriptions of tasks that are sent to executors, and computes their sizes.
type Describer struct {
	st *state.State
	// rerun returns the fire whose run a daemon's shard is to repeat with its next launch, zero for none.
	rerun func(job string, item int) time.Time
}

// New returns a Describer. rerun returns the fire whose run a daemon's shard is to repeat with its next launch, zero
// for none.
func New(s *state.State, rerun func(job string, item int) time.Time) *Describer {
	return &Describer{s, rerun}
}

// task returns the part of a task's description that is the same for all attempts of a shard with the present
// settings.
func (ts *Describer) task(e *executions.Execution, item int) wire.Task {
	cfg, a, shared := &e.Settings().Job, &e.Settings().App, e.Prepare()
	t := wire.Task{
		ExecutionID: e.ID(), JobName: e.Job(), Item: item, Total: e.NumShards(),
		JobParameter: cfg.JobParameter, ShardingParameter: shared.Parameters()[item], FireTime: e.Fire().UTC(),
		Package: wire.Package{URL: a.AppURL, SHA256: a.AppSHA256, Cache: a.AppCacheEnable},
		CPUs:    cfg.CPUCount, MemoryMB: cfg.MemoryMB, KeepFailed: cfg.KeepFailed, AppName: a.AppName,
		Env: shared.Env().Texts, EnvFiles: shared.Env().Files, EnvVariables: shared.Env().Variables,
		Props: shared.Props(), Secrets: shared.Env().Secrets, Command: shared.Command(),
		PlainCommand: !cfg.ContextArgument(), KillGraceMillis: ts.st.Executions.KillGrace(e).Milliseconds(),
	}
	if r, ok := cfg.HTTP(); ok {
		t.HTTP = &wire.HTTP{URL: r.URL, Method: r.Method, Data: r.Data, ContentType: r.ContentType,
			ConnectTimeoutMillis: r.ConnectTimeout, ReadTimeoutMillis: r.ReadTimeout, Proxy: r.Proxy}
		for name, text := range r.Headers {
			if t.HTTP.Headers == nil {
				t.HTTP.Headers = map[string]wire.Header{}
			}
			t.HTTP.Headers[name] = wire.Header{Value: text.Value, File: text.FromFile, Variable: text.FromEnv,
				Secret: text.Secret}
		}
		t.Package, t.Command, t.PlainCommand = wire.Package{}, nil, false
	}
	if !e.Daemon() {
		t.TimeoutMillis = e.Timeout().Milliseconds()
	}
	if e.Daemon() {
		t.FireTime, t.Daemon = time.Time{}, ts.daemonOf(cfg, a)
	} else if zone := jobs.ZoneName(ts.zoneOf(cfg)); zone != "UTC" {
		t.TimeZone = zone
	}
	return t
}

// zoneOf returns the zone of a job's cron.
func (ts *Describer) zoneOf(cfg *jobs.Config) *time.Location {
	zone, err := jobs.Zone(*cfg, ts.st.Opt.Zone)
	if err != nil {
		return time.UTC // its cron cannot be parsed either
	}
	return zone
}

// daemonOf returns the part of the description by which an executor makes the fires of a daemon's shard.
func (ts *Describer) daemonOf(cfg *jobs.Config, a *app.Config) *wire.Daemon {
	first, _ := ts.st.Executions.RetryBackoff(cfg)
	return &wire.Daemon{
		Cron: cfg.Cron, TimeZone: ts.zoneOf(cfg).String(), Misfire: cfg.Misfire,
		SamplingCount: a.EventTraceSamplingCount, Failover: cfg.Failover,
		Concurrency: cfg.JobExecutorServiceHandlerType, TimeoutMillis: int64(cfg.TimeoutSeconds) * 1000,
		MaxRetries: cfg.MaxRetries, RetryBackoffMillis: first.Milliseconds(),
	}
}

// Fingerprint returns a fingerprint of all settings that a launch of a shard would use now. If it differs from that of
// the last launch, the settings have changed since.
func (ts *Describer) Fingerprint(e *executions.Execution, item int) string {
	t := ts.task(e, item)
	// The rest makes the fingerprint equal to that of earlier releases, so that an update of the scheduler replaces no
	// daemon.
	t.CPUs, t.MemoryMB = 0, 0 // the next element of sent has the resources
	if e.Settings().Job.Prop(jobs.PropScript) == "" {
		t.PlainCommand = false
	}
	sent := []any{t, e.Settings().Job.Resources(), e.Prepare().ExecutorKey()}
	if limit := e.Settings().Job.CPULimitMilli(); limit > 0 {
		sent = append(sent, limit)
	}
	if length := e.Settings().Job.Lease(); length > 0 {
		sent = append(sent, length)
	}
	return store.Fingerprint(string(store.Encode(sent)))
}

// besidesDescription is an upper bound of the size of a task in a call without its description: ids, resources, and
// the executor.
const besidesDescription = 768

// leaseBytes is an upper bound of the size of a task's lease.Grant without its URLs.
const leaseBytes = 512

// Describe returns the description of the shard's present attempt for its executor; id is the task id.
func (ts *Describer) Describe(e *executions.Execution, s *executions.Shard, id string) wire.Task {
	t := ts.task(e, s.Item())
	t.TaskID, t.Attempt, t.Source = id, s.Attempt(), string(s.Source())
	if t.Daemon != nil {
		t.Daemon.Rerun = ts.rerun(e.Job(), s.Item())
	}
	return t
}

// Common returns the encoded part of the description that all tasks of an execution share. It is encoded once for all
// shards that are launched together.
func (ts *Describer) Common(e *executions.Execution) wire.Shared {
	return e.SharedDescription(func() wire.Shared {
		encoded, _ := ts.task(e, 0).EncodeShared() // strings, numbers and a time can all be written
		return encoded
	})
}

// Size returns how large the descriptions of an execution's tasks are, or will be with the given settings if it was
// not launched. The result is cached until the document of the execution's job or app changes.
func (ts *Describer) Size(e *executions.Execution, settings *executions.Settings) executions.Described {
	key := executions.Described{}
	if !e.Launched() {
		j := ts.st.Config.Job(e.Job())
		key = executions.Described{Job: j.Config(), App: ts.st.Config.App(j.Config().AppName).Version()}
	}
	if d := e.Described(); d.TaskBytes > 0 && d.Job == key.Job && d.App == key.App {
		return d
	}
	launched := e.With(settings)
	shared, longest := len(ts.Common(launched)), 0
	for _, text := range launched.Prepare().Parameters() {
		longest = max(longest, len(text))
		if encoded, err := json.Marshal(text); err == nil {
			longest = max(longest, len(encoded))
		}
	}
	executor := len(ts.st.Opt.ExecutorBinary)
	for _, word := range ts.st.Opt.ExecutorCommand {
		executor += len(word)
	}
	for name, value := range ts.st.Opt.ExecutorEnvironment {
		executor += len(name) + len(value)
	}
	if settings.Job.Exclusive {
		executor += leaseBytes
		for _, url := range ts.st.Opt.LeaseURLs {
			executor += len(url) + len(`"",`)
		}
	}
	key.TaskBytes, key.SharedBytes = shared+longest+executor+besidesDescription, shared
	e.KeepDescribed(key)
	return key
}

// TooLarge returns a reason if the descriptions of the waiting shards of an execution together exceed
// Options.RunBytes, so that the shards cannot be launched; otherwise it returns the zero Reason. Registration refuses
// such a job, but the script of its app may have grown since, or an earlier release may have launched some of its
// shards. Shards that run or have ended do not count.
func (ts *Describer) TooLarge(e *executions.Execution, settings *executions.Settings) reason.Reason {
	n := settings.Job.ShardingTotalCount
	if e.Launched() {
		n = e.Waiting()
	}
	each := ts.Size(e, settings).SharedBytes
	if n*each <= ts.st.Opt.RunBytes {
		return reason.Reason{}
	}
	return reason.SettingsTooLarge(e.Launched(), n, jobs.Bytes(each), jobs.Bytes(n*each),
		jobs.Bytes(ts.st.Opt.RunBytes), e.ID())
}
