package route

// Triggered is the answer to a trigger. Its id identifies the run that the client can follow [D18].
type Triggered struct {
	ExecutionID string `json:"executionId"`
}
