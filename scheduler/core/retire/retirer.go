package retire

import "github.com/elasticjob-go/elasticjob/scheduler/core/state"

// Retirer ends executors that have nothing to do, or take no more tasks (rules X1, X2, X9).
type Retirer struct {
	*state.State
	// probe asks for offers, which show which executors run (rule X3).
	probe func()
}

func New(s *state.State, probe func()) *Retirer { return &Retirer{State: s, probe: probe} }
