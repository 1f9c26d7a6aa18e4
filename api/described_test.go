package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/test/described"
)

// describedAPI is the API's description. All requests and answers in the tests of this package are checked against it.
var describedAPI = sync.OnceValue(func() *described.Description {
	text, err := api.New(api.Options{Scheduler: newFakeScheduler(), Access: noUsers{}}).Description()
	if err != nil {
		panic(err)
	}
	d, err := described.New(text)
	if err != nil {
		panic(err)
	}
	return d
})

// TestTheDescriptionHasEveryRoute: each route has a summary, an answer, and a description of every parameter.
func TestTheDescriptionHasEveryRoute(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Version: "1.2.3"})
	answer, text := call(t, server, "GET", "/api/openapi.json", "")
	if answer.StatusCode != http.StatusOK || answer.Header.Get("ETag") == "" ||
		answer.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	if again, _ := call(t, server, "GET", "/api/openapi.json", "",
		"If-None-Match: "+answer.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("asked for again: %d", again.StatusCode)
	}
	var d struct {
		Info  struct{ Version string }
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]struct {
			Tags        []string
			Summary     string
			OperationID string
			Rule        string `json:"x-rule"`
			Parameters  []struct{ Name, In, Description string }
			Responses   map[string]struct {
				Description string
				Content     map[string]any
			}
		}
		Components struct {
			Schemas map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.Info.Version != "1.2.3" {
		t.Errorf("version %q", d.Info.Version)
	}
	ids, tags := map[string]bool{}, map[string]bool{}
	for _, tag := range d.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	rules := map[string]string{}
	for _, r := range api.New(api.Options{Scheduler: newFakeScheduler(), Access: noUsers{}}).Routes() {
		rules[r.Method+" "+r.Path] = r.Who
	}
	for _, route := range api.RouteNames() {
		method, path, _ := strings.Cut(route, " ")
		o, ok := d.Paths[path][strings.ToLower(method)]
		switch {
		case !ok:
			t.Errorf("%s is not described", route)
		case o.Summary == "" || strings.HasSuffix(o.Summary, ".") || o.OperationID == "" || ids[o.OperationID]:
			t.Errorf("%s: summary %q, id %q", route, o.Summary, o.OperationID)
		case o.Rule != rules[route]:
			t.Errorf("%s is described as for %q, and is for %q", route, o.Rule, rules[route])
		case len(o.Tags) != 1 || !tags[o.Tags[0]]:
			t.Errorf("%s is in the group %q, which has no description", route, o.Tags)
		}
		ids[o.OperationID] = true
		good := false
		for status, one := range o.Responses {
			good = good || status < "400" && one.Description != "" && (status >= "300" || len(one.Content) > 0)
		}
		if !good {
			t.Errorf("%s: nothing says what it gives", route)
		}
		for _, p := range o.Parameters {
			if p.Description == "" {
				t.Errorf("%s: nothing says what %s %s is", route, p.In, p.Name)
			}
		}
	}
	plain := regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	for name := range d.Components.Schemas {
		if !plain.MatchString(name) {
			t.Errorf("the schema %q needs a name of its own: in typeFacts", name)
		}
	}
}

// TestParametersAreReadAsDescribed: for an unknown parameter a route lists its parameters, which are exactly the
// described ones. Values that a parameter's schema forbids are refused.
func TestParametersAreReadAsDescribed(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b, History: &fakeHistory{}})
	b.add("my_app", "my_job")
	_, text := call(t, server, "GET", "/api/openapi.json", "")
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   struct {
					Type             any
					Enum             []string
					Minimum, Maximum *float64
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer("{appName}", "my_app", "{jobName}", "my_job", "{taskId}", "t1", "{executionId}",
		"exec-1", "{agentId}", "S0")
	for path, methods := range d.Paths {
		for method, o := range methods {
			if strings.Contains(path, "{period}") || method == "delete" {
				continue
			}
			var names []string
			for _, p := range o.Parameters {
				if p.In != "query" {
					continue
				}
				names = append(names, p.Name)
				wrong := map[bool]string{true: "no-such-word"}[p.Schema.Enum != nil || p.Schema.Type == "boolean" ||
					p.Schema.Type == "integer"]
				if p.Schema.Maximum != nil {
					wrong = "99999999999"
				}
				if wrong == "" {
					continue
				}
				answer, text := call(t, server, strings.ToUpper(method), values.Replace(path)+"?"+p.Name+"="+wrong,
					"{}")
				e := readError(t, answer, text)
				if answer.StatusCode != http.StatusBadRequest ||
					!slices.ContainsFunc(e.Error.Fields,
						func(f document.Violation) bool {
							return f.Field == p.Name &&
								!strings.Contains(f.Message, "unknown")
						}) {
					t.Errorf("%s %s?%s=%s: %d %s", method, path, p.Name, wrong, answer.StatusCode, text)
				}
			}
			if len(names) == 0 {
				continue
			}
			answer, text := call(t, server, strings.ToUpper(method), values.Replace(path)+"?no_such=1", "{}")
			if want := "this route takes " + strings.Join(names, ", "); answer.StatusCode != http.StatusBadRequest ||
				!strings.Contains(text, want) {
				t.Errorf("%s %s: %d %s, and described are %v", method, path, answer.StatusCode, text, names)
			}
		}
	}
}

// TestTheDescriptionsPage: the page is open, because it reveals nothing itself, and it does not exist without a
// console.
func TestTheDescriptionsPage(t *testing.T) {
	t.Parallel()
	shown := start(t, api.Options{Scheduler: newFakeScheduler(), Console: pages{}, Access: oneToken("right")})
	answer, text := call(t, shown, "GET", "/api/docs", "")
	if answer.StatusCode != http.StatusOK || text != "the docs of /api/docs" ||
		!strings.Contains(answer.Header.Get("Content-Security-Policy"), "require-trusted-types-for") {
		t.Errorf("%d %s %v", answer.StatusCode, text, answer.Header)
	}
	if answer, text := call(t, shown, "GET", "/api/openapi.json", ""); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger gets the description: %d %.80s", answer.StatusCode, text)
	}
	bare := start(t, api.Options{Scheduler: newFakeScheduler()})
	if answer, text := call(t, bare, "GET", "/api/docs", ""); answer.StatusCode != http.StatusNotFound ||
		readError(t, answer, text).Error.Code != "no_console" {
		t.Errorf("without a console: %d %s", answer.StatusCode, text)
	}
}

// TestExamplesAreAsDescribed: the examples of bodies and answers are valid by their schemas.
func TestExamplesAreAsDescribed(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	_, text := call(t, server, "GET", "/api/openapi.json", "")
	type content map[string]struct{ Example json.RawMessage }
	var d struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In, Example any }
			RequestBody struct{ Content content }
			Responses   map[string]struct{ Content content }
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for path, methods := range d.Paths {
		for method, o := range methods {
			answer := o.Responses["200"].Content["application/json"].Example
			if answer == nil {
				continue
			}
			target, query := path, ""
			for _, p := range o.Parameters {
				if p.In == "path" {
					target = strings.Replace(target, fmt.Sprintf("{%s}", p.Name), fmt.Sprint(p.Example), 1)
				}
				if p.In == "query" && p.Example != nil {
					query += fmt.Sprintf("&%s=%s", p.Name, url.QueryEscape(fmt.Sprint(p.Example)))
				}
			}
			r, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method),
				server.URL+target+"?"+strings.TrimPrefix(query, "&"), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			body := o.RequestBody.Content["application/json"].Example
			if body != nil {
				r.Header.Set("Content-Type", "application/json")
			}
			seen++
			said := &http.Response{StatusCode: http.StatusOK,
				Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
			if err := describedAPI().Check(r, body, said, answer); err != nil {
				t.Error(err)
			}
		}
	}
	if seen < 60 {
		t.Errorf("there are %d examples", seen)
	}
}

// TestReasonsAreDescribed: every code and every map of arguments beside a sentence has a description, and the codes in
// examples exist.
func TestReasonsAreDescribed(t *testing.T) {
	t.Parallel()
	text, err := api.New(api.Options{Scheduler: newFakeScheduler(), Access: noUsers{}}).Description()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for name, schema := range d.Components.Schemas {
		for field, of := range schema.Properties {
			beside := regexp.MustCompile(`^(reason|failure|waitingFor|cause|message)(Code|Args)$`)
			if !beside.MatchString(field) {
				continue
			}
			if found[field] = true; of.Description == "" {
				t.Errorf("nothing says what %s of %s is", field, name)
			}
		}
	}
	if len(found) != 10 {
		t.Errorf("described are %v", found)
	}
	code := regexp.MustCompile(`"(?:reason|failure|waitingFor|cause|message)Code": ?"([^"]*)"`)
	for _, example := range code.FindAllSubmatch(text, -1) {
		if !slices.Contains(reason.Codes(), reason.Code(example[1])) {
			t.Errorf("an example has the code %q", example[1])
		}
	}
}
