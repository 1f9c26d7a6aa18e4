package notify

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestDocsShowTheBodyThatIsSent compares the body in docs/api.md with the type of webhook bodies.
func TestDocsShowTheBodyThatIsSent(t *testing.T) {
	t.Parallel()
	text := reference.Block(t, "../docs/api.md", `"furtherFailures"`)
	shown := json.NewDecoder(strings.NewReader(text))
	shown.DisallowUnknownFields()
	var body webhookBody
	if err := shown.Decode(&body); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if string(again)+"\n" != text {
		t.Errorf("the document shows\n%sand what is sent has\n%s", text, again)
	}
}
