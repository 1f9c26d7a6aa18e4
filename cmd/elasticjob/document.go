package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// maxDocument is the largest document that the server accepts, in bytes.
const maxDocument = 1 << 20

// document contains the fields of an app or a job by name.
type document map[string]any

// field is a field of a document that has a flag.
type field struct {
	flag, name, usage string
	// zero has the type of the value.
	zero any
	// unless, if not nil, is the value in a new document if neither the flag nor a file is given.
	unless any
}

// fieldFlags defines a flag for each field, and -f.
func fieldFlags(cmd *cobra.Command, fields []field, file *string, isNew bool) {
	flags := cmd.Flags()
	flags.StringVarP(file, "file", "f", "", "a `FILE` with the fields as YAML or JSON; - is standard input")
	for _, f := range fields {
		if isNew && f.unless != nil {
			f.usage += fmt.Sprintf(" (without -f: %v)", f.unless)
		}
		switch zero := f.zero.(type) {
		case string:
			flags.String(f.flag, zero, f.usage)
		case bool:
			flags.Bool(f.flag, zero, f.usage)
		case int:
			flags.Int(f.flag, zero, f.usage)
		case float64:
			flags.Float64(f.flag, zero, f.usage)
		case []string:
			flags.StringSlice(f.flag, zero, f.usage)
		}
	}
}

// given sets the fields whose flags were given.
func (d document) given(cmd *cobra.Command, fields []field) error {
	for _, f := range fields {
		if !cmd.Flags().Changed(f.flag) {
			continue
		}
		var err error
		switch f.zero.(type) {
		case string:
			d[f.name], err = cmd.Flags().GetString(f.flag)
		case bool:
			d[f.name], err = cmd.Flags().GetBool(f.flag)
		case int:
			d[f.name], err = cmd.Flags().GetInt(f.flag)
		case float64:
			d[f.name], err = cmd.Flags().GetFloat64(f.flag)
		case []string:
			d[f.name], err = cmd.Flags().GetStringSlice(f.flag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gather builds a document from a file, overridden by a name on the command line, overridden by flags. In a new
// document without a file, missing fields get their unless values.
func (a *cli) gather(cmd *cobra.Command, args []string, file, nameField string, fields []field, isNew bool) (document,
	error) {
	d := document{}
	if file != "" {
		var err error
		if d, err = a.readDocument(file); err != nil {
			return nil, err
		}
	}
	if err := d.given(cmd, fields); err != nil {
		return nil, err
	}
	if len(args) > 0 {
		if named, ok := d[nameField]; ok && named != args[0] {
			return nil, usagef("%s is %q on the command line and %q in %s: which one?", nameField, args[0],
				fmt.Sprint(named), file)
		}
		d[nameField] = args[0]
	}
	if d[nameField] == nil {
		return nil, usagef("which one? Give a name, or -f FILE with %s", nameField)
	}
	for _, f := range fields {
		if _, ok := d[f.name]; isNew && file == "" && !ok && f.unless != nil {
			d[f.name] = f.unless
		}
	}
	return d, nil
}

func (d document) raw() (json.RawMessage, error) { return json.Marshal(d) }

// readDocument reads a file, or standard input, that contains one document.
func (a *cli) readDocument(file string) (document, error) {
	name, from := file, a.in
	if file == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage(err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxDocument+1))
	switch {
	case err != nil:
		return nil, usagef("read %s: %w", name, err)
	case len(text) > maxDocument:
		return nil, usagef("%s has more than 1 MiB, which no document may have", name)
	}
	d, err := parseDocument(text)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return d, nil
}

// parseDocument reads fields from YAML, which includes JSON.
func parseDocument(text []byte) (document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var whole, another yaml.Node
	switch err := decoder.Decode(&whole); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case err != nil:
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		if before, _, ok := strings.Cut(message, "unknown anchor"); ok {
			// An alias may be a password, so the message omits it.
			message = before + "an alias (*) of no anchor; put texts that begin with '*' into quotes"
		}
		return nil, fmt.Errorf("neither YAML nor JSON: %s", message)
	}
	if err := decoder.Decode(&another); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document: this command takes one")
	}
	value, err := valueOf(whole.Content[0])
	if err != nil {
		return nil, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it does not hold fields, as in memoryMB: 64, one in each line")
	}
	return fields, nil
}

// valueOf returns the JSON value of a node. A date stays a text, and large numbers keep their digits.
func valueOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: an alias (*): write out what it stands for", n.Line)
	case yaml.MappingNode:
		fields := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind != yaml.ScalarNode || name.Tag == "!!merge" {
				return nil, fmt.Errorf("line %d: a field's name is a text", name.Line)
			}
			if _, twice := fields[name.Value]; twice {
				return nil, fmt.Errorf("line %d: %s is there twice", name.Line, name.Value)
			}
			value, err := valueOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			fields[name.Value] = value
		}
		return fields, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, child := range n.Content {
			value, err := valueOf(child)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		fallthrough
	case "!!bool":
		var value any
		if err := n.Decode(&value); err != nil {
			return nil, fmt.Errorf("line %d: it is not the %s that its tag says", n.Line,
				strings.TrimPrefix(n.ShortTag(), "!!")) // the value may be a password, so the message omits it
		}
		return value, nil
	}
	return n.Value, nil
}

// pairs parses flags of the form NAME=VALUE.
func pairs(flag string, texts []string) (map[string]any, error) {
	all := map[string]any{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--%s %q: want NAME=VALUE", flag, text)
		}
		all[name] = value
	}
	return all, nil
}

// merge sets and removes entries of a field that is a map, and keeps the others. Secrets that the server shows hidden
// stay unchanged, because the server recognizes the hidden form.
func (d document) merge(name string, stored, set map[string]any, unset []string) {
	if len(set) == 0 && len(unset) == 0 {
		return
	}
	all := maps.Clone(stored)
	if here, ok := d[name].(map[string]any); ok {
		all = maps.Clone(here)
	}
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, set)
	for _, gone := range unset {
		delete(all, gone)
	}
	d[name] = all
}
