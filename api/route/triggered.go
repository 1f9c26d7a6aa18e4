package route

// Triggered is the answer to a trigger. ExecutionID is the id of the new run, so that the client can follow it [D18].
type Triggered struct {
	ExecutionID string `json:"executionId"`
}
