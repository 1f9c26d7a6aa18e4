// Package retire ends executors: those that have been idle for too long, those whose app was changed or deleted, and
// those that are closing and must be shut down (rules X1, X2, X9). It owns no state. Package executors keeps when an
// executor is checked next and how often SHUTDOWN was sent; this package decides when that happens.
package retire

import "github.com/elasticjob-go/elasticjob/scheduler/core/state"

// Retirer closes executors that are idle or obsolete, and shuts closing ones down (rules X1, X2, X9).
type Retirer struct {
	st *state.State
	// probe requests offers, which name the executors that run on their agents (rule X3).
	probe func()
}

// New returns a Retirer. probe requests offers, which name the executors that run on their agents.
func New(s *state.State, probe func()) *Retirer { return &Retirer{st: s, probe: probe} }
