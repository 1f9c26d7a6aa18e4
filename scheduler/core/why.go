package core

import "github.com/elasticjob-go/elasticjob/reason"

// Why says why something is as it is: in English, and as a code with its arguments, by which programs decide and the
// console finds the words of its reader's language. All are empty where there is no reason.
type Why struct {
	Reason     string         `json:"reason"`
	ReasonCode string         `json:"reasonCode,omitempty"`
	ReasonArgs map[string]any `json:"reasonArgs,omitempty"`
}

// OptionalWhy is Why where there is none for most.
type OptionalWhy struct {
	Reason     string         `json:"reason,omitempty"`
	ReasonCode string         `json:"reasonCode,omitempty"`
	ReasonArgs map[string]any `json:"reasonArgs,omitempty"`
}

func whyOf(r reason.Reason) Why {
	return Why{Reason: r.String(), ReasonCode: string(r.Code()), ReasonArgs: r.Args()}
}

func (v *ShardView) setFailure(r reason.Reason) {
	v.FailureCause, v.FailureCode, v.FailureArgs = r.String(), string(r.Code()), r.Args()
}
