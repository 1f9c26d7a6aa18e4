package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/resources"
)

// AcceptSeq is the ACCEPT that was sent and not answered; 0 when it was answered or voided. An attempt loaded from the registry counts as voided with the first subscription (rule L4).
func (s *Shard) AcceptSeq() int64 { return s.rec.acceptSeq }

// Agent is its Agent.
func (s *Shard) Agent() string { return s.rec.Agent }

// AgentURL is its AgentURL.
func (s *Shard) AgentURL() string { return s.rec.AgentURL }

// Attempt counts the attempts, the present one included.
func (s *Shard) Attempt() int { return s.rec.Attempt }

// Away is set when a master had its agent marked unreachable, and not only did not know the task.
func (s *Shard) Away() bool { return s.rec.Away }

// Cause: why it ended
func (s *Shard) Cause() reason.Reason { return s.rec.Cause }

// Complete is its Complete.
func (s *Shard) Complete() time.Time { return s.rec.Complete }

// Container is its Container.
func (s *Shard) Container() string { return s.rec.Container }

// Described is its described.
func (e *Execution) Described() Described { return e.described }

// Dir is its Dir.
func (s *Shard) Dir() string { return s.rec.Dir }

// Drain is set while the kill that is wanted lets the run under way come to its end.
func (s *Shard) Drain() bool { return s.rec.Drain }

// Dropped is set when it was a fire that other fires have crowded out while it waited (rule F5).
func (e *Execution) Dropped() bool { return e.rec.Dropped }

// Earlier are attempts before that had output, the oldest first, and the last one while the shard waits for another.
func (s *Shard) Earlier() []EarlierAttempt { return s.rec.Earlier }

// EndState is its EndState.
func (s *Shard) EndState() string { return s.rec.EndState }

// EndUnclear: rule S5
func (s *Shard) EndUnclear() time.Time { return s.rec.EndUnclear }

// Ended is the place in the order of ends, 0 while the execution is not over.
func (e *Execution) Ended() int64 { return e.rec.Ended }

// EndedAt is when it ended by the wall clock; endedAt is the same in the time of the term.
func (e *Execution) EndedAt() time.Time { return e.rec.EndedAt }

// Errors is its Errors.
func (s *Shard) Errors() int { return s.rec.Errors }

// Executor is its Executor.
func (s *Shard) Executor() string { return s.rec.Executor }

// Exit is its Exit.
func (s *Shard) Exit() *int { return s.rec.Exit }

// Fails is its Fails.
func (s *Shard) Fails() int { return s.rec.Fails }

// Fetching is set while the last report of its executor is that it fetches the package: no process of it was made yet (rule E1).
func (s *Shard) Fetching() bool { return s.rec.Fetching }

// Fire is its Fire.
func (e *Execution) Fire() time.Time { return e.rec.Fire }

// Framework is the id that it ran under, if that is not the present one.
func (s *Shard) Framework() string { return s.rec.Framework }

// Host is its Host.
func (s *Shard) Host() string { return s.rec.Host }

// ID is its ID.
func (e *Execution) ID() string { return e.rec.ID }

// Item is its Item.
func (s *Shard) Item() int { return s.rec.Item }

// Job is its Job.
func (e *Execution) Job() string { return e.rec.Job }

// Kill is why all that is left of it is to be killed, none while that is not wanted (rule K1).
func (e *Execution) Kill() reason.Reason { return e.rec.Kill }

// Kill: why its own end is wanted, if its execution is to go on
func (s *Shard) Kill() reason.Reason { return s.rec.Kill }

// KillSent and killTry pace the repetition of kills.
func (s *Shard) KillSent() time.Time { return s.rec.killSent }

// KillSince: rule K1: a wanted kill is state
func (s *Shard) KillSince() time.Time { return s.rec.KillSince }

// KillTry is its killTry.
func (s *Shard) KillTry() int { return s.rec.killTry }

// Known is set when the cluster reported anything of the task in this session.
func (s *Shard) Known() bool { return s.rec.known }

// LaunchKey is its launchKey.
func (e *Execution) LaunchKey() LaunchKey { return e.launchKey }

// Launchable: in executions.launchable
func (e *Execution) Launchable() bool { return e.launchable }

// Launched: Since-when of everything that has a timeout (rule F8).
func (s *Shard) Launched() time.Time { return s.rec.Launched }

// LaunchedAt is when it was first launched, by the wall clock.
func (e *Execution) LaunchedAt() time.Time { return e.rec.LaunchedAt }

// Losses is its Losses.
func (s *Shard) Losses() int { return s.rec.Losses }

// Made is when it began to wait: who has waited longest gets the reservation (rule L2).
func (e *Execution) Made() time.Time { return e.rec.Made }

// Need is what a daemon's attempt takes, Settings the fingerprint of what it was launched with, and Grace what its kills name: the settings of its execution may have changed since, and a longer grace than the task's own would drain the shard (rule X12).
func (s *Shard) Need() resources.Amount { return s.rec.Need }

// NotBefore is the backoff of a shard that waits, WaitSince when it began to (rule F8).
func (s *Shard) NotBefore() time.Time { return s.rec.NotBefore }

// Original is the task that was lost, of an attempt by failover.
func (s *Shard) Original() string { return s.rec.Original }

// Outdated are the items of a daemon's shards that may run with other settings than the present ones, in order.
func (e *Execution) Outdated() []int { return e.outdated }

// Overrides are what the run has instead of its job's settings, and OverridesOf the app that the job was of when they were given.
func (e *Execution) Overrides() *jobs.Overrides { return e.rec.Overrides }

// OverridesOf is its OverridesOf.
func (e *Execution) OverridesOf() string { return e.rec.OverridesOf }

// Package is the checksum of the package that it ran with, as its executor reported it.
func (s *Shard) Package() string { return s.rec.Package }

// Replacing is set on a daemon's shard from when it is killed for new settings until it runs well with them.
func (s *Shard) Replacing() bool { return s.rec.Replacing }

// RunningAt: rule K4: when RUNNING was heard, kept for jobs with a timeout
func (s *Shard) RunningAt() time.Time { return s.rec.RunningAt }

// RunningSince is when this leader heard that it runs, or took over.
func (s *Shard) RunningSince() time.Time { return s.rec.runningSince }

// Seen is how far it was seen to go: 0 nothing, 1 staging, 2 starting, 3 running.
func (s *Shard) Seen() int { return s.rec.Seen }

// SentWith is the ACCEPT that launched it, in this term.
func (s *Shard) SentWith() int64 { return s.rec.sentWith }

// Settings is its Settings.
func (e *Execution) Settings() *Settings { return e.rec.Settings }

// Settings is its Settings.
func (s *Shard) Settings() string { return s.rec.Settings }

// ShardsOpen: shards that are not terminal
func (e *Execution) ShardsOpen() int { return e.shardsOpen }

// Source is its Source.
func (e *Execution) Source() Source { return e.rec.Source }

// Start is its Start.
func (s *Shard) Start() time.Time { return s.rec.Start }

// Starts is its Starts.
func (s *Shard) Starts() int { return s.rec.Starts }

// State is its State.
func (s *Shard) State() State { return s.rec.State }

// StuckStaging is its stuckStaging.
func (s *Shard) StuckStaging() bool { return s.rec.stuckStaging }

// TaskID is its TaskID.
func (s *Shard) TaskID() string { return s.rec.TaskID }

// TimedOut: rule K4: its kill is wanted because it ran for too long
func (s *Shard) TimedOut() bool { return s.rec.TimedOut }

// Tries is its Tries.
func (s *Shard) Tries() Tries { return s.rec.Tries }

// Type of the next or present attempt: why it was launched.
func (s *Shard) Type() Source { return s.rec.Type }

// UUID: of the last update that changed something
func (s *Shard) UUID() []byte { return s.rec.UUID }

// Unplaced is its unplaced.
func (e *Execution) Unplaced() Unplaced { return e.unplaced }

// Unreachable is its Unreachable.
func (s *Shard) Unreachable() time.Time { return s.rec.Unreachable }

// WaitSince is its WaitSince.
func (s *Shard) WaitSince() time.Time { return s.rec.WaitSince }

// Waits is what keeps a task from beginning that is on its agent, in the words of the agent; nothing is decided by it.
func (s *Shard) Waits() string { return s.rec.waits }

// WorkDir is the agent's work folder and Container the executor's run: with them the absolute path of the sandbox that the executor reported is made again (sandbox.go). Both are empty until it has reported one.
func (s *Shard) WorkDir() string { return s.rec.WorkDir }
