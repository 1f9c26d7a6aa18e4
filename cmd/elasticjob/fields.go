package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fieldsOf returns the fields of a JSON document that are not empty, in their order. A list of texts becomes one pair,
// and a map becomes one pair for each entry. Other lists are left out.
func fieldsOf(raw json.RawMessage) ([]pair, error) {
	var doc yaml.Node // JSON is YAML, and this decoder keeps the order of fields
	if err := yaml.Unmarshal(escaped(raw), &doc); err != nil || len(doc.Content) != 1 {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var found []pair
	content := doc.Content[0].Content
	for i := 0; i+1 < len(content); i += 2 {
		name, value := content[i].Value, content[i+1]
		switch value.Kind {
		case yaml.ScalarNode:
			if value.Value != "" && value.Tag != "!!null" {
				found = append(found, pair{name, value.Value})
			}
		case yaml.SequenceNode:
			var texts []string
			if value.Decode(&texts) == nil && len(texts) > 0 {
				found = append(found, pair{name, strings.Join(texts, ", ")})
			}
		case yaml.MappingNode:
			var entries map[string]any
			if err := value.Decode(&entries); err != nil {
				return nil, fmt.Errorf("read the answer: %w", err)
			}
			for _, key := range slices.Sorted(maps.Keys(entries)) {
				found = append(found, pair{name + "." + key, textOf(entries[key])})
			}
		}
	}
	return found, nil
}

// textOf returns a text unchanged, and other values as JSON.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
