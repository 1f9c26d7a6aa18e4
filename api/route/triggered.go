package route

// Triggered is the answer to a trigger: the way to follow its run [D18].
type Triggered struct {
	ExecutionID string `json:"executionId"`
}
