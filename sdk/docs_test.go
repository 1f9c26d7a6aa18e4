package sdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestTheProtocolsExample sends the executor's messages of the example in protocol.md to a program and compares its
// messages with those of the example.
func TestTheProtocolsExample(t *testing.T) {
	t.Parallel()
	p := golang.resident(t)
	var hello, ended bool
	for line := range strings.Lines(reference.Block(t, "protocol.md", `"type":"hello"`)) {
		message, isExecutors := strings.CutPrefix(line, "> ")
		switch {
		case isExecutors && strings.HasPrefix(message, "{"):
			p.send(message)
		case isExecutors:
			p.close(p.toProcess)
		case strings.TrimSpace(line) == "exit status 0":
			p.expectExit(0)
			ended = true
		default:
			decoder := json.NewDecoder(strings.NewReader(line))
			decoder.DisallowUnknownFields()
			var m processMessage
			if err := decoder.Decode(&m); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			hello = hello || m.Type == "hello" && m.Version == 1
			if m.Type == "done" {
				if failure, _ := p.done(m.Run); failure != m.Error {
					t.Errorf("the run failed with %q, want %q", failure, m.Error)
				}
			}
		}
	}
	if !hello || !ended {
		t.Errorf("the example has a hello: %v, and an end: %v", hello, ended)
	}
}
