package app

import (
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
	if got := shown.KeepSecrets(c); got != c {
		t.Errorf("%+v", got)
	}
	moved := shown
	moved.AppURL = strings.Replace(moved.AppURL, "h/a.tar", "elsewhere/a.tar", 1)
	bad := moved.KeepSecrets(c).Check(CheckOptions{})
	if len(bad) != 1 || bad[0].Field != "appURL" || bad[0].Value != moved.AppURL {
		t.Errorf("sent elsewhere: %v", bad)
	}
	if bad := shown.KeepSecrets(Default()).Check(CheckOptions{}); len(bad) != 2 || !strings.Contains(bad[1].Message, "give the secret itself") {
		t.Errorf("as another app's: %v", bad)
	}
	c.AppURL = "ftp://h/a?token=hunter2"
	if bad := c.Check(CheckOptions{}); len(bad) != 1 || strings.Contains(bad.Error()+bad[0].Value, "hunter2") {
		t.Errorf("%v", bad)
	}
}
