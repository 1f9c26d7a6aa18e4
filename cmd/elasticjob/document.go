package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/definitions"
	codec "github.com/elasticjob-go/elasticjob/internal/document"
)

// maxDocument is the largest document that the server accepts, in bytes.
const maxDocument = 1 << 20

// document contains the fields of an app or a job by name.
type document map[string]any

// field is a field of a document that has a flag.
type field struct {
	flag, name, usage string
	// zero is the zero value of the field's type.
	zero any
	// fallback, if not nil, is the value in a new document for which neither a flag nor a file sets the field. If
	// always is false, it is used only without a file.
	fallback any
	always   bool
}

// fieldFlags defines a flag for each field, and -f.
func fieldFlags(cmd *cobra.Command, fields []field, file *string, isNew bool) {
	flags := cmd.Flags()
	flags.StringVarP(file, "file", "f", "", "a `FILE` with the fields as YAML or JSON; - is standard input")
	for _, f := range fields {
		switch {
		case !isNew || f.fallback == nil:
		case f.always:
			f.usage += fmt.Sprintf(" (by default %v)", f.fallback)
		default:
			f.usage += fmt.Sprintf(" (without -f: %v)", f.fallback)
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

// setFlags sets the fields whose flags were given.
func (d document) setFlags(cmd *cobra.Command, fields []field) {
	for _, f := range fields {
		flag := cmd.Flags().Lookup(f.flag)
		if !flag.Changed {
			continue
		}
		switch f.zero.(type) {
		case string:
			d[f.name] = flag.Value.String()
		case []string:
			d[f.name] = flag.Value.(pflag.SliceValue).GetSlice()
		default:
			d[f.name] = json.RawMessage(flag.Value.String()) // a number, true or false
		}
	}
}

// gather builds a document from a file and the flags, which override the file. The name on the command line must be
// that of the file, if the file has one.
func (a *cli) gather(cmd *cobra.Command, args []string, file, nameField string, fields []field) (document, error) {
	d := document{}
	if file != "" {
		var err error
		if d, err = a.readDocument(file); err != nil {
			return nil, err
		}
	}
	d.setFlags(cmd, fields)
	if len(args) > 0 {
		if inFile, ok := d[nameField]; ok && inFile != args[0] {
			return nil, usagef("%s is %q on the command line and %q in %s: which one?", nameField, args[0],
				fmt.Sprint(inFile), file)
		}
		d[nameField] = args[0]
	}
	if d[nameField] == nil {
		return nil, usagef("which one? Give a name, or -f FILE with %s", nameField)
	}
	return d, nil
}

// setFallbacks sets the missing fields that have a fallback value.
func (d document) setFallbacks(fields []field) {
	for _, f := range fields {
		if _, ok := d[f.name]; !ok && f.fallback != nil {
			d[f.name] = f.fallback
		}
	}
}

// defaultsText says which CPU and memory the subject, such as "each shard", has by default, because the document does
// not set them. It returns "" if the document sets both.
func (d document) defaultsText(subject string, cpuCount, memoryMB float64) string {
	var amounts, flags []string
	if d["cpuCount"] == nil {
		amounts, flags = append(amounts, number(cpuCount)+" CPU"), append(flags, "--cpu")
	}
	if d["memoryMB"] == nil {
		amounts, flags = append(amounts, number(memoryMB)+" MB"), append(flags, "--memory")
	}
	if len(amounts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s takes %s by default (%s)", subject, strings.Join(amounts, " and "),
		strings.Join(flags, ", "))
}

func (d document) raw() (json.RawMessage, error) { return json.Marshal(d) }

// readDocument reads a file, or standard input, that contains one document.
func (a *cli) readDocument(file string) (document, error) {
	source, err := definitions.ReadFile(file, a.in)
	switch {
	case err != nil:
		return nil, usage(err)
	case len(source.Text) > maxDocument:
		return nil, usagef("%s is larger than 1 MiB, the limit of a document", source.Name)
	}
	d, err := codec.Fields(source.Text)
	if err != nil {
		return nil, usagef("%s: %w", source.Name, err)
	}
	return d, nil
}

// pairs parses flags of the form NAME=VALUE.
func pairs(flag string, texts []string) (map[string]any, error) {
	all := map[string]any{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--%s %q: must be NAME=VALUE", flag, text)
		}
		all[name] = value
	}
	return all, nil
}

// merge sets and removes entries of a field that is a map. The other entries are those of the document if it has the
// field, else those of stored. Secrets that the server shows hidden stay unchanged, because the server recognizes the
// hidden form.
func (d document) merge(name string, stored, set map[string]any, unset []string) {
	if len(set) == 0 && len(unset) == 0 {
		return
	}
	all := maps.Clone(stored)
	if own, ok := d[name].(map[string]any); ok {
		all = maps.Clone(own)
	}
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, set)
	for _, key := range unset {
		delete(all, key)
	}
	d[name] = all
}
