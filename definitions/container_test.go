package definitions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

const inImage = `kind: App
appName: reports
image: registry.example/reports:7
imagePullSecrets: [mirror]
bootstrapScript: bin/start.sh
podTemplate:
  metadata:
    labels: {team: billing, version: 007}
  spec:
    nodeSelector:
      disk: ssd
    tolerations:
    - key: gpu
      operator: Exists
`

// TestAppsInImagesAreApplied checks that a pod template may be nested as in any manifest, that a difference is shown
// with its path, and that the template is sent as a whole.
func TestAppsInImagesAreApplied(t *testing.T) {
	t.Parallel()
	server := newServer()
	text := strings.Replace(inImage, "007", "'007'", 1)
	apply(t, server, text, options{})
	server.changes()
	if shown, reports := apply(t, server, text, options{}); shown != "Nothing differs: 1 unchanged.\n" ||
		len(reports)+len(server.changes()) > 0 {
		t.Errorf("the second time: %s %q", shown, reports)
	}
	changed := strings.NewReplacer("disk: ssd", "disk: nvme", "[mirror]", "[mirror, team]", "    - key: gpu\n",
		"    - key: gpu\n      effect: NoExecute\n").Replace(text)
	shown, _ := apply(t, server, changed, options{})
	want := `~ app reports  (billing.yaml:1)
    imagePullSecrets: ["mirror"] -> ["mirror","team"]
    podTemplate.spec.nodeSelector.disk: "ssd" -> "nvme"
    podTemplate.spec.tolerations[0].effect: (none) -> "NoExecute"
0 to create, 1 to change, 0 to remove, 0 unchanged.
`
	if shown != want {
		t.Errorf("shown\n%s\nwant\n%s", shown, want)
	}
	sent := `PUT /app {"appName":"reports","imagePullSecrets":["mirror","team"],"podTemplate":{"metadata":{"labels":{"team":"billing","version":"007"}},` +
		`"spec":{"nodeSelector":{"disk":"nvme"},"tolerations":[{"effect":"NoExecute","key":"gpu","operator":"Exists"}]}}}`
	if made := server.changes(); !slices.Equal(made, []string{sent}) {
		t.Errorf("%s", made)
	}
	written, err := definitions.Encode(fetch(t, server).All)
	if err != nil || planOf(t, server, string(written),
		definitions.PlanOptions{}).Summary() != "Nothing differs: 1 unchanged." {
		t.Errorf("%v\n%s", err, written)
	}
}

// TestNestedMistakesHaveTheirLines checks that problems in nested fields are reported with their lines.
func TestNestedMistakesHaveTheirLines(t *testing.T) {
	t.Parallel()
	_, err := definitions.Read([]definitions.Source{{Name: "a.yaml",
		Text: []byte(strings.NewReplacer("[mirror]", "[Mirror]", "    - key: gpu\n",
			"    - key: gpu\n      key: cpu\n").Replace(inImage))}}, now)
	if err == nil || !strings.Contains(err.Error(),
		"a.yaml:4: app reports: imagePullSecrets[0]: is not a name of a Secret: lower-case letters, digits, '-' and '.' (found Mirror)") || !strings.Contains(err.Error(), "a.yaml:14: app reports: podTemplate.spec.tolerations[0].key: is given more than once") {
		t.Errorf("%v", err)
	}
}

// TestTheDocumentsAppIsApplied checks that the app on Kubernetes in docs/definitions.md can be applied.
func TestTheDocumentsAppIsApplied(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, reference.Block(t, "../docs/definitions.md", "kind: App\nappName: reports"), options{})
	if made := server.changes(); len(made) != 1 || !strings.HasPrefix(made[0], "POST /app ") {
		t.Errorf("%q", made)
	}
}
