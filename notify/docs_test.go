package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/hook"
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

// TestTheExampleOfTemplates checks that the example with which templates are checked has exactly the fields of a body.
func TestTheExampleOfTemplates(t *testing.T) {
	t.Parallel()
	shown := json.NewDecoder(strings.NewReader(hook.Example))
	shown.DisallowUnknownFields()
	var body webhookBody
	if err := shown.Decode(&body); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(body); err != nil || string(again) != hook.Example {
		t.Errorf("%v: the example is\n%s\nand a body\n%s", err, hook.Example, again)
	}
}

// TestTemplatesInTheDocument checks that the templates in docs/api.md are accepted, and have the message where the
// services expect it.
func TestTemplatesInTheDocument(t *testing.T) {
	t.Parallel()
	for holds, at := range map[string][]string{
		`"msg_type"`:    {"content", "text"},
		`":x: *"`:       {"text"},
		`AdaptiveCard`:  {"attachments", "0", "content", "body", "1", "text"},
		`"routing_key"`: {"payload", "summary"},
	} {
		text := reference.Block(t, "../docs/api.md", holds)
		if wrong := hook.Check(text); wrong != "" {
			t.Errorf("%s %s", text, wrong)
			continue
		}
		body, err := hook.Render(text, []byte(hook.Example), "the key", time.Unix(1777636803, 0))
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for _, name := range at {
			if list, is := value.([]any); is {
				value = list[int(name[0]-'0')]
			} else {
				value = value.(map[string]any)[name]
			}
		}
		if got, ok := value.(string); !ok ||
			!strings.Contains(got, "Job 'my_job' exception occur\n\"C:\\dir\" is <down>") {
			t.Errorf("%s: its text is %v", body, value)
		}
	}
}
