package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

var outputs = []string{"table", "json", "yaml"}

func (a *cli) checkOutput() error {
	if slices.Contains(outputs, a.output) {
		return nil
	}
	message := fmt.Sprintf("--output %q: must be one of %s", a.output, strings.Join(outputs, ", "))
	if near := spelling.Nearest(a.output, outputs); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return usagef("%s", message)
}

// show prints the server's answer as JSON or YAML, or calls printText for a table. If the command prints several
// answers, each is one line of JSON or one YAML document.
func (a *cli) show(raw json.RawMessage, printText func() error) error {
	isFirst := !a.printed
	a.printed = true
	switch a.output {
	case "json":
		var text bytes.Buffer
		var err error
		if a.several {
			err = json.Compact(&text, raw)
		} else {
			err = json.Indent(&text, raw, "", "  ")
		}
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		text.WriteByte('\n')
		_, err = a.out.Write(escaped(text.Bytes()))
		return err
	case "yaml":
		if !isFirst {
			fmt.Fprintln(a.out, "---")
		}
		return writeYAML(a.out, raw)
	}
	return printText()
}

// writeYAML writes a JSON document as YAML and keeps the order of its fields.
func writeYAML(w io.Writer, raw json.RawMessage) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(escaped(raw), &doc); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	plain(&doc)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&doc), encoder.Close()); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err := w.Write(escaped(text.Bytes()))
	return err
}

// otherBooleans are texts that some YAML readers parse as booleans.
var otherBooleans = []string{"y", "n", "yes", "no", "on", "off"}

// plain changes a node from JSON's style to YAML's. Texts keep their tag, so that they are quoted if they look like
// another type.
func plain(n *yaml.Node) {
	n.Style = 0
	if n.Tag == "!!str" && slices.Contains(otherBooleans, strings.ToLower(n.Value)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	if strings.ContainsFunc(n.Value, isControl) {
		n.Style = yaml.DoubleQuotedStyle // only this style can escape the character
	}
	for _, child := range n.Content {
		plain(child)
	}
	if n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		n.Style = yaml.FlowStyle // [] and {}
	}
}

// showOwn is show for a value that does not come from a server.
func (a *cli) showOwn(value any, printText func() error) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return a.show(raw, printText)
}
