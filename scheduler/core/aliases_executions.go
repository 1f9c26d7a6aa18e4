package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/executions"

const DaemonSource = executions.DaemonSource
const Failed = executions.Failed
const FailoverSource = executions.FailoverSource
const Finished = executions.Finished
const Killed = executions.Killed
const Launching = executions.Launching
const Lost = executions.Lost
const Misfired = executions.Misfired
const NormalTrigger = executions.NormalTrigger

type ProgressView = executions.Progress

const Running = executions.Running

type Source = executions.Source
type State = executions.State

const TimedOut = executions.TimedOut
const Triggered = executions.Triggered
const Waiting = executions.Waiting
