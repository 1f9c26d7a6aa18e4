package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// noNodeName stands for a cluster's rules of pod templates. It refuses nodeName.
func noNodeName(template []byte) (bad document.Violations) {
	if strings.Contains(string(template), "nodeName") {
		bad = append(bad, document.Violate("podTemplate.spec.nodeName", "n", "can't be set"))
	}
	return bad
}

const appInImage = `{"appName":"my_app","image":"registry.example/my-job:1","imagePullPolicy":"Always","imagePullSecrets":["mirror"],` +
	`"podTemplate":{"spec":{"nodeSelector":{"disk":"ssd"},"serviceAccountName":"a<b"}},"bootstrapScript":"bin/start.sh","cpuCount":0.1,"memoryMB":64}`

// An app with an image can be published, read and changed field by field. A new object or list replaces the old one as
// a whole.
func TestAppsInImages(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), PodTemplate: noNodeName, Packages: &fakePackages{}})
	type fields map[string]json.RawMessage
	ask := func(method, path, body string) fields {
		t.Helper()
		answer, text := call(t, server, method, path, body)
		var of fields
		if err := json.Unmarshal([]byte(text), &of); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
		}
		return of
	}
	has := func(of fields, field, want string) {
		t.Helper()
		if got := strings.ReplaceAll(string(of[field]), `\u003c`, "<"); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	if answer, text := call(t, server, "POST", "/api/app/check", appInImage); answer.StatusCode != 422 ||
		!strings.Contains(text, "no package to check") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	ask("POST", "/api/app?check=true", appInImage) // without a package, it is published unchecked
	stored := ask("GET", "/api/app/my_app", "")
	has(stored, "image", `"registry.example/my-job:1"`)
	has(stored, "imagePullPolicy", `"Always"`)
	has(stored, "imagePullSecrets", `["mirror"]`)
	has(stored, "podTemplate", `{"spec":{"nodeSelector":{"disk":"ssd"},"serviceAccountName":"a<b"}}`)
	ask("PUT", "/api/app", `{"appName":"my_app","podTemplate":{"metadata":{"labels":{"team":"a"}}}}`)
	changed := ask("GET", "/api/app/my_app", "")
	has(changed, "podTemplate", `{"metadata":{"labels":{"team":"a"}}}`)
	has(changed, "image", `"registry.example/my-job:1"`)
	ask("PUT", "/api/app", `{"appName":"my_app","podTemplate":null,"imagePullSecrets":null,"imagePullPolicy":null,"image":null,"appURL":"http://h/a.tar.gz"}`)
	plain := ask("GET", "/api/app/my_app", "")
	for _, field := range []string{"image", "imagePullPolicy", "imagePullSecrets", "podTemplate"} {
		has(plain, field, "")
	}
}

func TestAppsInImagesAreRefused(t *testing.T) {
	t.Parallel()
	pods, none := newFakeScheduler(), newFakeScheduler()
	withPods := start(t, api.Options{Scheduler: pods, PodTemplate: noNodeName})
	without := start(t, api.Options{Scheduler: none})
	answer, text := call(t, withPods, "POST", "/api/app",
		`{"appName":"my_app","image":"A","imagePullSecrets":[1],"podTemplate":{"spec":{"nodeName":"n"}},"bootstrapScript":"bin/start.sh"}`)
	e := readError(t, answer, text)
	var found []string
	for _, v := range e.Error.Fields {
		found = append(found, v.Field)
	}
	if got := strings.Join(found, " "); answer.StatusCode != 422 ||
		got != "imagePullSecrets[0] image podTemplate.spec.nodeName" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	answer, text = call(t, without, "POST", "/api/app", appInImage)
	if e := readError(t, answer, text); answer.StatusCode != 422 || len(e.Error.Fields) != 5 ||
		!strings.Contains(text, "works on Kubernetes only") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if pods.changed()+none.changed() != 0 {
		t.Error("something was changed")
	}
}

// The schema for forms and editors has podTemplate, and image instead of appURL, only on a cluster that runs pods.
func TestTheAppsSchemaHasWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	for _, pods := range []bool{true, false} {
		options := api.Options{Scheduler: newFakeScheduler()}
		if pods {
			options.PodTemplate = noNodeName
		}
		_, text := call(t, start(t, options), "GET", "/api/schema/app", "")
		var schema struct {
			Required   []string
			AnyOf      []any
			Properties map[string]any
		}
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		needsURL := strings.Contains(strings.Join(schema.Required, " "), "appURL")
		if _, has := schema.Properties["podTemplate"]; has != pods || needsURL == pods ||
			(len(schema.AnyOf) == 2) != pods {
			t.Errorf("with pods %t: %s", pods, text)
		}
	}
}
