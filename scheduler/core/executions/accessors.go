package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// AcceptSeq is the number of the ACCEPT that launched the present attempt, while that ACCEPT is unanswered; 0 once it
// was answered or a new session has voided it. It is 0 for an attempt of an earlier term, too (rule L4).
func (s *Shard) AcceptSeq() int64 { return s.rec.acceptSeq }

// Agent is the id of the agent of the present or last attempt, "" before the first.
func (s *Shard) Agent() string { return s.rec.Agent }

// AgentURL is the address of that agent's API at the launch, "" if it was not known.
func (s *Shard) AgentURL() string { return s.rec.AgentURL }

// Attempt is the number of attempts so far, including the present one; 0 before the first.
func (s *Shard) Attempt() int { return s.rec.Attempt }

// Away reports whether a master has marked the agent as unreachable. It is false if a master only did not know the
// task.
func (s *Shard) Away() bool { return s.rec.Away }

// Cause is why the present or last attempt ended; none while it runs or if no cause is known.
func (s *Shard) Cause() reason.Reason { return s.rec.Cause }

// Complete is when the attempt ended, by the wall clock; zero before that.
func (s *Shard) Complete() time.Time { return s.rec.Complete }

// Container is the container id of the executor's run (see WorkDir).
func (s *Shard) Container() string { return s.rec.Container }

// CreatedAt is when the execution was opened and began to wait, in the time of the term. The execution that has waited
// longest gets the reservation (rule L2).
func (e *Execution) CreatedAt() time.Time { return e.rec.CreatedAt }

// Described returns how large the descriptions of the tasks are, zero until KeepDescribed.
func (e *Execution) Described() Described { return e.described }

// Dir is the task's folder inside the sandbox, as its executor reported it; "" before that.
func (s *Shard) Dir() string { return s.rec.Dir }

// Drain reports whether the wanted kill lets the present run of a daemon's shard come to its end (rule X12).
func (s *Shard) Drain() bool { return s.rec.Drain }

// Dropped reports whether the execution was a waiting fire that was dropped for later fires (rule F5).
func (e *Execution) Dropped() bool { return e.rec.Dropped }

// Earlier lists up to MaxEarlier previous attempts that had output, the oldest first; while the shard waits, the list
// includes its last attempt.
func (s *Shard) Earlier() []EarlierAttempt { return s.rec.Earlier }

// EndState is the reported state that belongs to EndUnclear, "" while that is zero.
func (s *Shard) EndState() string { return s.rec.EndState }

// EndUnclear is since when the cluster has reported an end without a cause, zero if it has not (rule S5).
func (s *Shard) EndUnclear() time.Time { return s.rec.EndUnclear }

// EndNumber is the place of the execution in the order of ends, counted from 1; 0 while it is open.
func (e *Execution) EndNumber() int64 { return e.rec.EndNumber }

// EndedAt is when the execution ended, by the wall clock; zero while it is open.
func (e *Execution) EndedAt() time.Time { return e.rec.EndedAt }

// Errors counts the attempts of the shard that the master refused (rule E1); see Tries.
func (s *Shard) Errors() int { return s.rec.Errors }

// Executor is the id of the executor of the present or last attempt, "" if the task brings its own.
func (s *Shard) Executor() string { return s.rec.Executor }

// Exit is the exit status of the attempt's process, nil if none was reported.
func (s *Shard) Exit() *int { return s.rec.Exit }

// Fails counts the attempts of the shard that failed and were retried (rule E3); see Tries.
func (s *Shard) Fails() int { return s.rec.Fails }

// Fetching reports whether the last update of the task said that its package is being fetched, so that no process has
// begun yet (rule E1).
func (s *Shard) Fetching() bool { return s.rec.Fetching }

// Fire is the time of the fire or of the trigger for which the execution was made.
func (e *Execution) Fire() time.Time { return e.rec.Fire }

// Framework is the framework id that the task ran under, "" if that is the present one.
func (s *Shard) Framework() string { return s.rec.Framework }

// Host is the host name of the agent, "" if it was not known at the launch.
func (s *Shard) Host() string { return s.rec.Host }

// ID is the id of the execution. It is unique among those that are kept.
func (e *Execution) ID() string { return e.rec.ID }

// Item is the number of the shard in its execution, from 0; it is also its index.
func (s *Shard) Item() int { return s.rec.Item }

// Job is the name of the job.
func (e *Execution) Job() string { return e.rec.Job }

// Kill is the reason why the rest of the execution is to end, none while no kill is wanted (rule K1).
func (e *Execution) Kill() reason.Reason { return e.rec.Kill }

// Kill is the reason why the task alone is to be killed; none if its execution ends, or if the kill is for its
// timeout.
func (s *Shard) Kill() reason.Reason { return s.rec.Kill }

// KillSent is when the wanted kill was last sent in this session, zero if it was not.
func (s *Shard) KillSent() time.Time { return s.rec.killSent }

// KillSince is since when the kill of the task has been wanted, zero if it is not. It is stored before a kill is
// sent (rule K1).
func (s *Shard) KillSince() time.Time { return s.rec.KillSince }

// KillTry is how often the kill was sent in this session. It determines the backoff before the next one.
func (s *Shard) KillTry() int { return s.rec.killTry }

// Reported reports whether the cluster has reported anything of the task in this session.
func (s *Shard) Reported() bool { return s.rec.reported }

// LaunchKey is the place of the execution in the order of launches. It means nothing unless Launchable is true.
func (e *Execution) LaunchKey() LaunchKey { return e.launchKey }

// Launchable reports whether the execution is among those that Set.Launchable lists.
func (e *Execution) Launchable() bool { return e.launchable }

// Launched is when the present attempt was launched, in the time of the term (rule F8).
func (s *Shard) Launched() time.Time { return s.rec.Launched }

// LaunchedAt is when the execution was first launched, by the wall clock; zero before that.
func (e *Execution) LaunchedAt() time.Time { return e.rec.LaunchedAt }

// Losses counts the attempts of the shard that were lost while their agent stayed (rule E2); see Tries.
func (s *Shard) Losses() int { return s.rec.Losses }

// Lease is the length of the leases of an exclusive attempt (rule K5), 0 if it is not exclusive.
func (s *Shard) Lease() time.Duration { return s.rec.Lease }

// Unleased reports whether the attempt is exclusive, but has no lease (rule K5).
func (s *Shard) Unleased() bool { return s.rec.Unleased }

// Need is the resources that a daemon's present attempt was allotted. It is zero for other jobs (see Execution.Needs).
func (s *Shard) Need() resources.Amount { return s.rec.Need }

// NotBefore is when the backoff of a waiting shard ends, in the time of the term; zero without one (rule F8).
func (s *Shard) NotBefore() time.Time { return s.rec.NotBefore }

// OnlySilent reports whether nothing but the silence of its executor makes an attempt unreachable: the cluster neither
// calls its agent unreachable nor, once agents have had the time to register, says that it does not know the attempt.
func (s *Shard) OnlySilent() bool { return s.rec.Silent && !s.rec.Away && !s.rec.unknown }

// Original is the id of the lost task that the present attempt replaces by failover, "" for any other.
func (s *Shard) Original() string { return s.rec.Original }

// Outdated lists, in order, the items of a daemon's shards that may run with other settings than the present ones. The
// slice must not be changed.
func (e *Execution) Outdated() []int { return e.outdated }

// Overrides are the settings of the run that replace its job's, nil for none.
func (e *Execution) Overrides() *jobs.Overrides { return e.rec.Overrides }

// OverridesOf is the app that the job belonged to when Overrides were given.
func (e *Execution) OverridesOf() string { return e.rec.OverridesOf }

// Package is the SHA-256 checksum, in hexadecimal, of the package that the attempt ran with, as its executor
// reported it; "" if it did not.
func (s *Shard) Package() string { return s.rec.Package }

// Replacing reports whether a daemon's shard was killed for new settings and does not run well with them yet.
func (s *Shard) Replacing() bool { return s.rec.Replacing }

// Reopened counts how often the execution had ended and was opened again.
func (e *Execution) Reopened() int { return e.rec.Reopened }

// Returns counts how often the present attempt was given up and taken back.
func (s *Shard) Returns() int { return s.rec.Returns }

// RunningAt is when RUNNING was reported, in the time of the term, for a job with a timeout; else zero (rule K4).
func (s *Shard) RunningAt() time.Time { return s.rec.RunningAt }

// RunningSince is when this leader learned that the attempt runs or, for an attempt of an earlier term, when this term
// was loaded.
func (s *Shard) RunningSince() time.Time { return s.rec.runningSince }

// Seen is the furthest state that was reported of the task: 0 for none, then SeenStaging, SeenStarting and
// SeenRunning.
func (s *Shard) Seen() int { return s.rec.Seen }

// SentWith is the number of the ACCEPT that launched the attempt in this term, 0 if an earlier term did.
func (s *Shard) SentWith() int64 { return s.rec.sentWith }

// Settings are the settings that the execution runs with, nil before its first launch (rule F7). They must not be
// changed.
func (e *Execution) Settings() *Settings { return e.rec.Settings }

// Settings is the fingerprint of the settings that a daemon's attempt was launched with; "" for other jobs.
func (s *Shard) Settings() string { return s.rec.Settings }

// ShardsOpen is the number of shards that have not ended; 0 before the first launch.
func (e *Execution) ShardsOpen() int { return e.shardsOpen }

// Silent reports whether the attempt is unreachable because its executor sends no heartbeats.
func (s *Shard) Silent() bool { return s.rec.Silent }

// Source is the reason why the execution was made.
func (e *Execution) Source() Source { return e.rec.Source }

// Source is why the present attempt was launched or, while the shard waits, why the next one will be.
func (s *Shard) Source() Source { return s.rec.Type }

// Start is when the process of the attempt began, by the clock of its agent; zero if that is not known.
func (s *Shard) Start() time.Time { return s.rec.Start }

// Starts counts the attempts of the shard that failed to start on their agents (rule L6); see Tries.
func (s *Shard) Starts() int { return s.rec.Starts }

// State is the state of the shard.
func (s *Shard) State() State { return s.rec.State }

// StuckStaging reports whether the task stayed staged in spite of a kill.
func (s *Shard) StuckStaging() bool { return s.rec.stuckStaging }

// TaskID is the id of the present or last task, "" before the first attempt.
func (s *Shard) TaskID() string { return s.rec.TaskID }

// TimedOut reports whether the kill of the task is wanted because it exceeded its timeout (rule K4).
func (s *Shard) TimedOut() bool { return s.rec.TimedOut }

// Tries has the numbers of the shard's attempts that the master refused, that were lost, that failed and that did not
// start.
func (s *Shard) Tries() Tries { return s.rec.Tries }

// UUID is the uuid of the last status update that changed something, nil for none.
func (s *Shard) UUID() []byte { return s.rec.UUID }

// Unplaced is the result of the last match for the execution.
func (e *Execution) Unplaced() Unplaced { return e.unplaced }

// Unreachable is since when the attempt has counted as unreachable, in the time of the term; zero while it does not
// (rule E4). Its agent does not answer the master, its executor is silent, or it stays staged.
func (s *Shard) Unreachable() time.Time { return s.rec.Unreachable }

// WaitSince is since when the shard has waited, in the time of the term; zero if it has waited as long as its
// execution (rule F8).
func (s *Shard) WaitSince() time.Time { return s.rec.WaitSince }

// WaitText is the reason, in the words of the agent, why a task that is on its agent has not begun; "" for none. It is
// only shown to users; no decision uses it.
func (s *Shard) WaitText() string { return s.rec.waitText }

// WorkDir is the agent's work folder. From it and Container, package sandbox rebuilds the absolute path of the sandbox
// that the executor reported. Both are "" until the executor has reported one.
func (s *Shard) WorkDir() string { return s.rec.WorkDir }
