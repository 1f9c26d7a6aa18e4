package pod_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestTheDocumentsTemplates checks the templates in the documentation as the API does when an app is published.
func TestTheDocumentsTemplates(t *testing.T) {
	t.Parallel()
	var app struct{ PodTemplate json.RawMessage }
	block := reference.Block(t, "../../../docs/api.md", `"podTemplate":{`)
	body := regexp.MustCompile(`(?s)-d '(.*)'`).FindStringSubmatch(block)
	if len(body) == 0 || json.Unmarshal([]byte(body[1]), &app) != nil {
		t.Fatalf("docs/api.md has no app with a podTemplate: %q", body)
	}
	for from, template := range map[string]string{
		"docs/api.md":        string(app.PodTemplate),
		"docs/kubernetes.md": reference.Block(t, "../../../docs/kubernetes.md", `"nodeSelector"`),
	} {
		if bad := pod.Check([]byte(template)); len(bad) > 0 {
			t.Errorf("%s: %v", from, bad)
		}
	}
}
