package app

import (
	"fmt"
	"strings"
	"testing"
)

// A signed URL's token is shown to nobody, and what comes back without it keeps it.
func TestSecretsAreHiddenAndKept(t *testing.T) {
	t.Parallel()
	c := Default()
	c.AppName, c.AppURL, c.BootstrapScript = "a", "https://h/a.tar?token=hunter2&v=1", "run --from https://me:hunter2@h/x"
	shown := c.WithoutSecrets()
	if shown.AppURL != "https://h/a.tar?token=******&v=1" || shown.BootstrapScript != "run --from https://me:******@h/x" {
		t.Errorf("%+v", shown)
	}
	for name, test := range map[string]struct {
		url, image string
		kept       bool
		field      string // refused
	}{
		"as it was":                {shown.AppURL, "", true, ""},
		"the next version":         {"https://h/b.tar", "", true, ""},
		"a package from elsewhere": {"https://elsewhere/b.tar", "", false, "bootstrapScript"},
		"without TLS":              {"http://h/b.tar", "", false, "bootstrapScript"},
		"in an image":              {shown.AppURL, "elsewhere/x:1", false, "bootstrapScript"},
		"its secret elsewhere":     {"https://elsewhere/a.tar?token=******&v=1", "", false, "appURL"},
	} {
		moved := shown
		moved.AppURL, moved.Image = test.url, test.image
		kept, bad := moved.KeepSecrets(c)
		bad = bad.And(kept.Check(CheckOptions{}))
		if (kept.BootstrapScript == c.BootstrapScript) != test.kept || test.kept != (len(bad) == 0) || !test.kept && !strings.Contains(fmt.Sprint(bad), test.field+":") && bad[0].Field != test.field {
			t.Errorf("%s: %+v %v", name, kept, bad)
		}
	}
	template := shown
	template.PodTemplate = `{"spec":{"hostAliases":[{"ip":"10.0.0.1","hostnames":["h"]}]}}`
	if kept, bad := template.KeepSecrets(c); len(bad) != 1 || !strings.Contains(bad[0].Message, "podTemplate") ||
		kept.BootstrapScript == c.BootstrapScript || kept.AppURL != c.AppURL {
		t.Errorf("with another template: %+v %v", kept, bad)
	}
	c.Image = "registry:5000/x:1"
	shown.Image = "registry:5000/x@sha256:ab"
	if kept, bad := shown.KeepSecrets(c); len(bad) > 0 || kept.AppURL != c.AppURL || kept.BootstrapScript != c.BootstrapScript {
		t.Errorf("the image's next version: %+v %v", kept, bad)
	}
	c.Image, shown.Image = "", ""
	asNew, bad := shown.KeepSecrets(Default())
	if bad = bad.And(asNew.Check(CheckOptions{})); len(bad) != 2 || !strings.Contains(bad[1].Message, "give the secret itself") {
		t.Errorf("as another app's: %v", bad)
	}
	c.AppURL = "ftp://h/a?token=hunter2"
	if bad := c.Check(CheckOptions{}); len(bad) != 1 || strings.Contains(bad.Error()+bad[0].Value, "hunter2") {
		t.Errorf("%v", bad)
	}
}
