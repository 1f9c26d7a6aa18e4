package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestReferenceOfRun: docs/configuration.md lists the flags of executor run as its help does.
func TestReferenceOfRun(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("| flag | |\n|---|---|\n")
	flag := regexp.MustCompile(`(?m)^  (--\S+(?: [\w.]+)?)  +(.*(?:\n {5,}.*)*)$`)
	for _, found := range flag.FindAllStringSubmatch(runUsage, -1) {
		fmt.Fprintf(&text, "| `%s` | %s |\n", found[1], reference.Cell(strings.Join(strings.Fields(found[2]), " ")))
	}
	reference.Check(t, "../../docs/configuration.md", "flags of executor run", text.String())
}
