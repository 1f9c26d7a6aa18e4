package executions

import "time"

// Progress is how far a task has come, as its program last reported. It is only shown to users; no decision uses it.
type Progress struct {
	// Fraction is from 0 to 1.
	Fraction float64 `json:"fraction"`
	Message  string  `json:"message"`
	// Notice is set if the program has reported no progress. Message is then the executor's remark about that.
	Notice bool `json:"notice,omitempty"`
	// At is when the program reported it, by the clock of its agent.
	At time.Time `json:"at"`
}
