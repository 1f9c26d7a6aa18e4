package mesos

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkParseChunk parses an agent's answer with a page of output.
func BenchmarkParseChunk(b *testing.B) {
	text := strings.Repeat("2026-05-01 12:00:00 a line of the output, of some length that is usual\n", 900)
	body, err := json.Marshal(map[string]any{"data": text, "offset": 0})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if data, _, err := parseChunk(body); err != nil || len(data) != len(text) {
			b.Fatal(len(data), err)
		}
	}
}
