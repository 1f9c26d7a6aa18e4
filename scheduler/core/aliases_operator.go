package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/operator"

type ForgetRequested = operator.ForgetRequested
type KillRequested = operator.KillRequested
type PauseRequested = operator.PauseRequested
type ReconcileRequested = operator.ReconcileRequested
type TriggerRequested = operator.TriggerRequested
