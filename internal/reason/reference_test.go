package reason

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

// asJSON returns a value as JSON on one line.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestReferenceOfConsoleWords checks that the console has the words of zh.txt.
func TestReferenceOfConsoleWords(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("// The words of reasons in Chinese, from internal/reason/zh.txt. make docs writes this file.\n\n" +
		"/** @type {Record<string, string>} */\nexport const chinese = {\n")
	for _, code := range Codes() {
		fmt.Fprintf(&b, "  %s: %s,\n", code, asJSON(t, templateOf(code, Chinese)))
	}
	b.WriteString("}\n")
	reference.CheckFile(t, "../../web/static/js/lib/reasonwords.js", b.String())
}

// TestReferenceOfExamples checks that testdata/words.json contains reasons as the API returns them, with their words.
// The console's unit tests use the file.
func TestReferenceOfExamples(t *testing.T) {
	t.Parallel()
	all := slices.Clone(examples)
	for _, c := range sentences {
		if r := c.r; !r.IsZero() {
			all = append(all, r)
		}
	}
	type example struct {
		Code    Code           `json:"code"`
		Args    map[string]any `json:"args,omitempty"`
		English string         `json:"english"`
		Chinese string         `json:"chinese"`
	}
	english := map[Code]string{}
	for _, code := range Codes() {
		english[code] = templateOf(code, English)
	}
	lines := make([]string, len(all))
	for i, r := range all {
		lines[i] = asJSON(t, example{r.Code(), r.Args(), r.Words(English), r.Words(Chinese)})
	}
	reference.CheckFile(t, "testdata/words.json", fmt.Sprintf("{\"english\": %s,\n\"examples\": [\n%s\n]}\n",
		asJSON(t, english), strings.Join(lines, ",\n")))
}

// TestReferenceOfCodes checks that docs/reasons.md contains all codes with their English words.
func TestReferenceOfCodes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| code | words |\n|---|---|\n")
	for _, code := range Codes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code, reference.Cell(templateOf(code, English)))
	}
	reference.Check(t, "../../docs/reasons.md", "codes of reasons", b.String())
}

// TestDocsShowAReason compares the example in docs/api.md with a reason's sentence, code and arguments.
func TestDocsShowAReason(t *testing.T) {
	t.Parallel()
	r := LostTooOften(2, said)
	answer := struct {
		Reason string         `json:"reason"`
		Code   Code           `json:"reasonCode"`
		Args   map[string]any `json:"reasonArgs"`
	}{r.String(), r.Code(), r.Args()}
	if diff := cmp.Diff(reference.Block(t, "../../docs/api.md", `"reasonCode":"lost_too_often"`),
		asJSON(t, answer)+"\n"); diff != "" {
		t.Errorf("- document, + code:\n%s", diff)
	}
}

// templateOf returns the template of a code in one language; "" if there is none.
func templateOf(code Code, in Language) string { return templates[in][code].text }
