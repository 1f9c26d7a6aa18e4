package definitions

import (
	"fmt"
	"io"
	"strings"
)

// signs mark the actions in the text.
var signs = map[Action]string{Create: "+", Change: "~", Remove: "-"}

// longValue is the average length of a field's old and new value, in bytes, above which they are written on separate
// lines.
const longValue = 50

// Show writes the changes of the plan, a block for each app and job, and the summary. The text contains no secret.
func (p *Plan) Show(w io.Writer) error {
	var out strings.Builder
	for _, s := range p.Steps {
		s.show(&out)
	}
	fmt.Fprintln(&out, p.Summary())
	_, err := io.WriteString(w, out.String())
	return err
}

// show writes the block of a step. It writes nothing for Keep, unless secrets are withheld.
func (s *Step) show(out *strings.Builder) {
	if s.Action != Keep {
		fmt.Fprintf(out, "%s %s", signs[s.Action], s)
		if s.At.File != "" {
			fmt.Fprintf(out, "  (%s)", s.At)
		}
		out.WriteByte('\n')
	}
	for _, d := range s.Differences {
		switch {
		case s.Action == Create:
			fmt.Fprintf(out, "    %s: %s\n", d.Field, d.New)
		case len(d.Old)+len(d.New) > 2*longValue:
			fmt.Fprintf(out, "    %s:\n      - %s\n      + %s\n", d.Field, orNone(d.Old), orNone(d.New))
		default:
			fmt.Fprintf(out, "    %s: %s -> %s\n", d.Field, orNone(d.Old), orNone(d.New))
		}
	}
	switch {
	case s.Disable && s.Action == Create:
		out.WriteString("    disabled: true\n")
	case s.Disable:
		out.WriteString("    disabled: false -> true\n")
	case s.Enable:
		out.WriteString("    disabled: true -> false\n")
	}
	if len(s.Withheld) > 0 {
		fmt.Fprintf(out, "  %s: %s: the server hides what it has there, so it is neither compared nor sent; "+
			"use fromFile or fromEnv, or --send-secrets\n", s, strings.Join(s.Withheld, ", "))
	}
}

// orNone returns a text for a missing value.
func orNone(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}
