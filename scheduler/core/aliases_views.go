package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/views"

type AgentDetail = views.AgentDetail
type AgentName = views.AgentName
type AgentTaskView = views.AgentTaskView
type AgentView = views.AgentView
type AppView = views.AppView
type ClusterFilter = views.ClusterFilter
type ClusterView = views.ClusterView
type Counts = views.Counts
type DaemonView = views.DaemonView
type ExecutionFilter = views.ExecutionFilter
type ExecutionSummary = views.ExecutionSummary
type ExecutionView = views.ExecutionView
type ExecutorView = views.ExecutorView
type Explanation = views.Explanation
type Facts = views.Facts
type FailoverView = views.FailoverView
type FaultyView = views.FaultyView
type JobCheck = views.JobCheck
type JobDetail = views.JobDetail
type JobRow = views.JobRow
type JobView = views.JobView
type LogPlace = views.LogPlace
type NoteView = views.NoteView
type NotesView = views.NotesView
type OptionalWhy = views.OptionalWhy
type PlacedShardView = views.PlacedShardView
type PlacementView = views.PlacementView
type ReadyView = views.ReadyView
type SandboxView = views.SandboxView
type ShardView = views.ShardView
type StartFailureView = views.StartFailureView
type TaskView = views.TaskView

const TroubleAgentUnreachable = views.TroubleAgentUnreachable
const TroubleDaemonSilent = views.TroubleDaemonSilent
const TroubleFaulty = views.TroubleFaulty
const TroubleNotSubscribed = views.TroubleNotSubscribed
const TroubleStartFailures = views.TroubleStartFailures
const TroubleUnnotified = views.TroubleUnnotified

type Views = views.Views
type WaitingView = views.WaitingView
type Why = views.Why
