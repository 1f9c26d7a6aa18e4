package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/problem"

const Conflict = problem.Conflict

type Error = problem.Error

var Errorf = problem.Errorf

const Forbidden = problem.Forbidden
const Invalid = problem.Invalid

type Kind = problem.Kind

const LogGone = problem.LogGone
const NotFound = problem.NotFound
const OutcomeUnknown = problem.OutcomeUnknown
const TooSoon = problem.TooSoon
const Unavailable = problem.Unavailable
