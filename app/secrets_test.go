package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// TestSecretsAreHiddenAndKept checks that the token of a signed URL is hidden, and that a document that is sent back
// with the placeholder keeps the token.
func TestSecretsAreHiddenAndKept(t *testing.T) {
	t.Parallel()
	c := Default()
	c.AppName, c.AppURL, c.BootstrapScript = "a", "https://h/a.tar?token=hunter2&v=1",
		"run --from https://me:hunter2@h/x"
	shown := c.WithoutSecrets()
	if shown.AppURL != "https://h/a.tar?token=******&v=1" ||
		shown.BootstrapScript != "run --from https://me:******@h/x" {
		t.Errorf("%+v", shown)
	}
	elsewhere := document.Object(`{"spec":{"hostAliases":[{"ip":"10.0.0.1","hostnames":["h"]}]}}`)
	for name, test := range map[string]struct {
		url, image string
		template   document.Object
		refused    []string
	}{
		"unchanged":                 {shown.AppURL, "", "", nil},
		"the next version":          {"https://h/b.tar", "", "", nil},
		"a package of another host": {"https://elsewhere/b.tar", "", "", []string{"bootstrapScript"}},
		"without TLS":               {"http://h/b.tar", "", "", []string{"bootstrapScript"}},
		"in another image":          {shown.AppURL, "elsewhere/x:1", "", []string{"appURL", "bootstrapScript"}},
		"with another template":     {shown.AppURL, "", elsewhere, []string{"appURL", "bootstrapScript"}},
		"in an image only":          {"", "elsewhere/x:1", "", []string{"bootstrapScript"}},
		"its secret on another host": {
			"https://elsewhere/a.tar?token=******&v=1", "", "", []string{"appURL", "bootstrapScript"},
		},
	} {
		changed := shown
		changed.AppURL, changed.Image, changed.PodTemplate = test.url, test.image, test.template
		kept, bad := changed.KeepSecrets(c)
		var refused []string
		for _, v := range bad.And(kept.Check(CheckOptions{})) {
			refused = append(refused, v.Field)
			if strings.Contains(v.Value+v.Message, "hunter2") {
				t.Errorf("%s: %+v", name, v)
			}
		}
		slices.Sort(refused)
		if diff := cmp.Diff(test.refused, refused); diff != "" {
			t.Errorf("%s: other fields are refused: %s", name, diff)
		}
		for field, text := range kept.secretTexts() {
			if slices.Contains(test.refused, field) && strings.Contains(*text, "hunter2") {
				t.Errorf("%s: %s is kept", name, field)
			}
		}
	}
	c.Image = "registry:5000/x:1"
	shown.Image = "registry:5000/x@sha256:ab"
	if kept, bad := shown.KeepSecrets(c); len(bad) > 0 || kept.AppURL != c.AppURL ||
		kept.BootstrapScript != c.BootstrapScript {
		t.Errorf("the image's next version: %+v %v", kept, bad)
	}
	c.Image, shown.Image = "", ""
	asNew, bad := shown.KeepSecrets(Default())
	if bad = bad.And(asNew.Check(CheckOptions{})); len(bad) != 2 ||
		!strings.Contains(bad[1].Message, "give the secret itself") {
		t.Errorf("as another app's: %v", bad)
	}
	c.AppURL = "ftp://h/a?token=hunter2"
	if bad := c.Check(CheckOptions{}); len(bad) != 1 || strings.Contains(bad.Error()+bad[0].Value, "hunter2") {
		t.Errorf("%v", bad)
	}
}
