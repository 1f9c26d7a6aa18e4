package main

import (
	"io"

	"github.com/elasticjob-go/elasticjob/definitions"
)

// change is a step of a plan in the output for scripts.
type change struct {
	Action string                   `json:"action"`
	Kind   string                   `json:"kind"`
	Name   string                   `json:"name"`
	File   string                   `json:"file,omitempty"`
	Line   int                      `json:"line,omitempty"`
	Fields []definitions.Difference `json:"fields,omitempty"`
	// Disabled says whether the step disables or enables the app or job; nil if it does neither.
	Disabled *bool `json:"disabled,omitempty"`
	// Error says why the step failed.
	Error string `json:"error,omitempty"`
}

// changesOf returns the steps of a plan that change something.
func changesOf(plan *definitions.Plan) []change {
	all := []change{}
	for _, s := range plan.Steps {
		if s.Action != definitions.Keep {
			all = append(all, changeOf(s))
		}
	}
	return all
}

func changeOf(s *definitions.Step) change {
	c := change{Action: string(s.Action), Kind: string(s.Kind), Name: s.Name(), File: s.At.File, Line: s.At.Line,
		Fields: s.Differences}
	if s.Disable || s.Enable {
		c.Disabled = &s.Disable
	}
	return c
}

// cleanWriter replaces control characters, so that a text cannot control the terminal.
type cleanWriter struct{ to io.Writer }

func (w cleanWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
