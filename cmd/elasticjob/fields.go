package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fieldsOf are the fields of a JSON document that are not empty, in their order. Those of a field that is a map have a
// line each, a list of texts has one.
func fieldsOf(raw json.RawMessage) ([]pair, error) {
	var doc yaml.Node // JSON is YAML, and this keeps the order of fields
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
				found = append(found, pair{name + "." + key, shortValue(entries[key])})
			}
		}
	}
	return found, nil
}

// shortValue is a text as it is, and anything else as JSON.
func shortValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
