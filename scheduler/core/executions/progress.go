package executions

import "time"

// ProgressView is how far a task has come, as its program said last.
type Progress struct {
	// Fraction is from 0 to 1.
	Fraction float64 `json:"fraction"`
	Message  string  `json:"message"`
	// At is when it said so, by the clock of its agent.
	At time.Time `json:"at"`
}
