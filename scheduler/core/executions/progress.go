package executions

import "time"

// Progress is how far a task has come, as its program last reported. It is for people; no decision uses it.
type Progress struct {
	// Fraction is from 0 to 1.
	Fraction float64 `json:"fraction"`
	Message  string  `json:"message"`
	// Notice means that the program has reported no progress, and Message is the executor's about it.
	Notice bool `json:"notice,omitempty"`
	// At is when the program reported it, by the clock of its agent.
	At time.Time `json:"at"`
}
