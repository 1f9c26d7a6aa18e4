package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/step"

var Backoff = step.Backoff

type Call = step.Call
type CallAcknowledge = step.CallAcknowledge
type CallDecline = step.CallDecline
type CallEndExecutor = step.CallEndExecutor
type CallKill = step.CallKill
type CallLaunch = step.CallLaunch
type CallReconcile = step.CallReconcile
type CallRequestOffers = step.CallRequestOffers
type CallStopOffers = step.CallStopOffers
type CallSubscribe = step.CallSubscribe
type Changed = step.Changed

var DefaultOptions = step.DefaultOptions

type Note = step.Note

const NoteAgentClock = step.NoteAgentClock
const NoteExecutionEnded = step.NoteExecutionEnded
const NoteExecutionMade = step.NoteExecutionMade
const NoteExecutorQuiet = step.NoteExecutorQuiet
const NoteFireDropped = step.NoteFireDropped
const NoteFiresMissed = step.NoteFiresMissed

type NoteKind = step.NoteKind

const NoteNotification = step.NoteNotification
const NoteSession = step.NoteSession
const NoteTaskEnded = step.NoteTaskEnded
const NoteTaskLaunched = step.NoteTaskLaunched

type Options = step.Options

const YAMLDocuments = step.YAMLDocuments
