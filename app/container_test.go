package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

func TestCheckContainer(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("0f", 32)
	for _, test := range []struct {
		name   string
		change func(*app.Config)
		field  string // "" for a valid document
		want   string
	}{
		{name: "an image alone", change: func(c *app.Config) { c.Image, c.AppURL = "busybox", "" }},
		{name: "an image and a package", change: func(c *app.Config) { c.Image = "registry.example:5000/team/my_job:1.2-rc.1" + digest }},
		{name: "a registry by its address", change: func(c *app.Config) { c.Image = "[::1]:5000/a/b" }},
		{name: "neither", change: func(c *app.Config) { c.AppURL = "" }, field: "appURL", want: "or give an image"},
		{name: "a scheme", change: func(c *app.Config) { c.Image = "https://registry.example/a" }, field: "image", want: "without a scheme"},
		{name: "a space", change: func(c *app.Config) { c.Image = "a b" }, field: "image", want: "is not an image"},
		{name: "capitals", change: func(c *app.Config) { c.Image = "registry.example/Team/a" }, field: "image", want: "is not an image"},
		{name: "a colon without a tag", change: func(c *app.Config) { c.Image = "a:" }, field: "image", want: "is not an image"},
		{name: "half a digest", change: func(c *app.Config) { c.Image = "a@sha256:12" }, field: "image", want: "is not an image"},
		{name: "long", change: func(c *app.Config) { c.Image = strings.Repeat("a", 513) }, field: "image", want: "longer than 512"},
		{name: "a policy", change: func(c *app.Config) { c.ImagePullPolicy = "IfNotPresent" }},
		{name: "another policy", change: func(c *app.Config) { c.ImagePullPolicy = "always" }, field: "imagePullPolicy", want: "must be Always, IfNotPresent, Never, or empty"},
		{name: "secrets", change: func(c *app.Config) { c.ImagePullSecrets = document.ListOf("mirror", "team.a") }},
		{name: "no name of a secret", change: func(c *app.Config) { c.ImagePullSecrets = document.ListOf("mirror", "Team") }, field: "imagePullSecrets[1]", want: "is not a name of a Secret"},
		{name: "a secret twice", change: func(c *app.Config) { c.ImagePullSecrets = document.ListOf("a", "a") }, field: "imagePullSecrets[1]", want: "more than once"},
		{name: "many secrets", change: func(c *app.Config) { c.ImagePullSecrets = document.ListOf(strings.Fields(strings.Repeat("a ", 21))...) }, field: "imagePullSecrets", want: "has 21 names"},
		{name: "a template", change: func(c *app.Config) { c.PodTemplate = `{"a":1}` }},
		{name: "a template that the cluster refuses", change: func(c *app.Config) { c.PodTemplate = `{"bad":1}` }, field: "podTemplate.bad", want: "not here"},
		{name: "a large template", change: func(c *app.Config) { c.PodTemplate = document.Object(`{"a":"` + strings.Repeat("a", 65<<10) + `"}`) }, field: "podTemplate", want: "longer than 64 KiB"},
		{name: "NUL", change: func(c *app.Config) { c.PodTemplate = `{"a":"\u0000"}` }, field: "podTemplate", want: "NUL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := stored()
			test.change(&c)
			bad := c.Check(app.CheckOptions{PodTemplate: func(template []byte) (bad document.Violations) {
				if strings.Contains(string(template), "bad") {
					bad = append(bad, document.Violate("podTemplate.bad", "", "not here"))
				}
				return bad
			}})
			switch {
			case test.field == "":
				if len(bad) > 0 {
					t.Errorf("refused: %v", bad)
				}
			case len(bad) != 1 || bad[0].Field != test.field || !strings.Contains(bad[0].Message, test.want):
				t.Errorf("got %+v, want %s: …%s…", bad, test.field, test.want)
			}
		})
	}
}

// TestNoContainersRefusesTheirSettings checks that a cluster without containers refuses their settings, and requires a
// package.
func TestNoContainersRefusesTheirSettings(t *testing.T) {
	t.Parallel()
	c := stored()
	c.AppURL, c.Image, c.ImagePullPolicy, c.ImagePullSecrets, c.PodTemplate = "", "a", "Never", document.ListOf("b"),
		`{"spec":{}}`
	var fields []string
	for _, v := range c.Check(app.CheckOptions{NoContainers: true}) {
		fields = append(fields, v.Field)
		if v.Field != "appURL" && !strings.HasPrefix(v.Message,
			"works on Kubernetes only, and this server runs jobs elsewhere") {
			t.Errorf("%+v", v)
		}
	}
	if diff := cmp.Diff([]string{"appURL", "image", "imagePullPolicy", "imagePullSecrets", "podTemplate"},
		fields); diff != "" {
		t.Error(diff)
	}
	if bad := stored().Check(app.CheckOptions{NoContainers: true}); len(bad) > 0 {
		t.Error(bad)
	}
}
