// Package pipe is the executor's end of the two pipes that a job's process gets (sdk/protocol.md).
//
//	executor ── run, cancel, end of stream ──▶ descriptor 3 ─ process
//	         ◀─ hello, progress, done ──────── descriptor 4 ─
//
// A process is not trusted. It may write anything of any length or nothing, may read nothing, may close its ends, or
// may leave them to a process that outlives it. So the length of lines is limited. Lines that are not messages are
// skipped, but reported: otherwise a run would end or wait without a reason because its done was ignored. Writes have
// a deadline, and reading ends with the process, not with the pipe.
package pipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/executor/stacktrace"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Version is the newest version of the protocol that this executor supports.
const Version = 1

// The limits of lines and of the texts of errors, in bytes. Longer lines are skipped, and longer texts are cut.
const (
	maxLine  = 65_536
	maxError = 4096
)

// Types of messages from a process.
const (
	Hello    = "hello"
	Progress = "progress"
	Done     = "done"
)

// Message is one message from a process. Each type of message has some of the fields.
type Message struct {
	Type string `json:"type"`
	// Version and SDK are for hello.
	Version int    `json:"version"`
	SDK     string `json:"sdk"`
	// Run is the id of the run, for progress and done; a process that has sent no hello may omit it.
	Run string `json:"run"`
	// Fraction, from 0 to 1, and Message are for progress.
	Fraction float64 `json:"fraction"`
	Message  string  `json:"message"`
	// Error is for done; empty if the run succeeded.
	Error string `json:"error"`
}

// parse parses a line. If the line is not a message of a known type, problem says why. parse removes the frames of
// stack traces from an error, and cuts texts to their limits.
func parse(line []byte) (m Message, problem string) {
	if !utf8.Valid(line) {
		line = []byte(textfile.Show(line, ""))
	}
	err := json.Unmarshal(line, &m)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return m, fmt.Sprintf("the field %s of the message %s is of the wrong type: %s",
			wrongType.Field, quote(line), wrongType.Value)
	case err != nil:
		return m, "the line " + quote(line) + " is no message, which is a JSON object on one line"
	case m.Type != Hello && m.Type != Progress && m.Type != Done:
		return m, "the message " + quote(line) + " has no known type (hello, progress or done)"
	}
	m.Fraction = math.Max(0, math.Min(m.Fraction, 1))
	m.Message, m.Error = cut(m.Message, wire.MaxProgressMessage), cut(stacktrace.Shorten(m.Error), maxError)
	return m, ""
}

// quote returns the beginning of a line, for messages.
func quote(line []byte) string {
	const longest = 60
	text := strings.TrimSpace(string(line))
	if short := cut(text, longest); short != text {
		return short + "…"
	}
	return text
}

// cut returns the first limit bytes of a text, in whole characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Run is the message that requests a run from a resident process.
type Run struct {
	ID string `json:"run"`
	// FireTime has the form of wire.FormatFireTime.
	FireTime    string `json:"fireTime"`
	Source      string `json:"source"`
	Attempt     int    `json:"attempt"`
	ExecutionID string `json:"executionId"`
	// Context is the sharding context, in JSON.
	Context json.RawMessage `json:"context"`
	// Props are the job's own properties.
	Props map[string]string `json:"props"`
}

// MarshalJSON returns the form for the pipe.
func (r Run) MarshalJSON() ([]byte, error) {
	type fields Run
	if r.Props == nil {
		r.Props = map[string]string{}
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		fields
	}{"run", fields(r)})
}

// Cancel is the message that asks a resident process to end a run early.
type Cancel struct {
	Run    string `json:"run"`
	Reason string `json:"reason"`
}

// MarshalJSON returns the form for the pipe.
func (c Cancel) MarshalJSON() ([]byte, error) {
	type fields Cancel
	return json.Marshal(struct {
		Type string `json:"type"`
		fields
	}{"cancel", fields(c)})
}
