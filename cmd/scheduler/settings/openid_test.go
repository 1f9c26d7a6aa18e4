package settings

import (
	"strings"
	"testing"
)

func TestOpenIDFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret, open := w.file(t, "secret", "hush\n", 0o600), w.file(t, "open", "hush\n", 0o644)
	const right = "--local --oidc-issuer https://id.example --oidc-client-id ej --oidc-role admins=admin "
	for args, want := range map[string][]string{
		"--local --oidc-client-id x --oidc-role a=admin": {"--oidc-client-id has no effect without --oidc-issuer", "--oidc-role has no effect"},
		"--local --oidc-issuer http://id.example":        {"must be https", "--oidc-client-id is missing", "--oidc-role is missing"},
		right + "--oidc-client-secret-file " + open: {"--oidc-client-secret-file",
			"chmod 600"},
		right + "--oidc-redirect-url http://jobs.example/api/oidc/callback": {"--oidc-redirect-url", "must be https"},
		right + "--oidc-role x=boss --oidc-role y": {`--oidc-role "x=boss"`, "must be one of",
			`--oidc-role "y"`},
		right + "--advertise jobs.example:8899": {"by default that of --advertise", "must be https"},
	} {
		_, err := w.settings(strings.Fields(args)...)
		for _, words := range want {
			if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: want %q in: %v", args, words, err)
			}
		}
	}
	s, err := w.settings(append(strings.Fields(right+"--oidc-scopes groups,email --oidc-client-secret-file "+secret),
		"--oidc-role", "a,b=operator:x-*,y")...)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.config.OpenID; len(o.Roles) != 2 || o.Roles[1].Value != "a,b" || len(o.Roles[1].Apps) != 2 ||
		len(o.Scopes) != 2 || o.Secret != "hush" {
		t.Errorf("%+v", o)
	}
	var out strings.Builder
	if err := s.Show(&out); err != nil || strings.Contains(out.String(), "hush") {
		t.Errorf("%v: it shows %s", err, &out)
	}
}
