package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/client"
)

// TestTheClientsTypesAreTheAPIs: every field of an answer that package client reads is in the API's description, and
// is of a type that the client can read.
func TestTheClientsTypesAreTheAPIs(t *testing.T) {
	t.Parallel()
	text, err := api.New(api.Options{Scheduler: newFakeScheduler(), Access: noUsers{}}).Description()
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for route, answer := range map[string]any{
		"get /api/app/list":                    []client.App{},
		"get /api/app/{appName}":               client.App{},
		"post /api/app":                        client.App{},
		"put /api/app":                         client.App{},
		"delete /api/app/{appName}":            client.App{},
		"post /api/app/{appName}/enable":       client.App{},
		"get /api/job/jobs":                    []client.Job{},
		"get /api/job/jobs/{jobName}":          client.Job{},
		"post /api/job/register":               client.Job{},
		"put /api/job/update":                  client.Job{},
		"delete /api/job/{jobName}/deregister": client.Job{},
		"post /api/job/{jobName}/pause":        client.Job{},
		"post /api/job/{jobName}/trigger":      client.Triggered{},
		"get /api/job/{jobName}/explain":       client.Explanation{},
		"get /api/job/{jobName}/executions":    []client.Summary{},
		"get /api/executions":                  []client.Summary{},
		"get /api/execution/{executionId}":     client.Execution{},
		"get /api/jobs":                        client.JobPage{},
		"get /api/cluster":                     client.Cluster{},
		"post /api/agent/{agent}/drain":        client.Machine{},
		"post /api/agent/{agent}/dead":         client.DeadMachine{},
		"post /api/agent/{agent}/cordon":       client.Machine{},
		"get /api/overview":                    client.Overview{},
		"get /healthz":                         client.Health{},
		"get /api/login":                       client.Logins{},
		"get /api/session":                     client.Session{},
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(route, " ")
			schema := inside(t, document, "paths", path, method, "responses", "200", "content", "application/json",
				"schema")
			var missing []string
			switch {
			case method == "get" && strings.HasPrefix(path, "/api/app/"), strings.HasPrefix(path, "/api/job/jobs"):
				// The client has one type for a document and for what a command answers, which says more.
				missing = []string{"disabled", "notes", "noteReasons", "state"}
			case strings.HasSuffix(path, "/explain"):
				missing = []string{"durationMillis"}
			}
			readable(t, document, route, schema, reflect.TypeOf(answer), missing)
		})
	}
}

// inside is a part of a JSON document.
func inside(t *testing.T, from any, path ...string) any {
	t.Helper()
	for _, name := range path {
		object, _ := from.(map[string]any)
		if from = object[name]; from == nil {
			t.Fatalf("the description has no %s of %s", name, strings.Join(path, " "))
		}
	}
	return from
}

// readable reports where a schema allows what encoding/json can't read into a type, and each field of the type that
// the schema lacks and that is not among those known to be missing.
func readable(t *testing.T, document map[string]any, at string, schema any, into reflect.Type, missing []string) {
	t.Helper()
	of, _ := schema.(map[string]any)
	for of["$ref"] != nil {
		name := strings.TrimPrefix(of["$ref"].(string), "#/components/schemas/")
		of, _ = inside(t, document, "components", "schemas", name).(map[string]any)
	}
	if either, ok := of["anyOf"].([]any); ok { // null, or what is described elsewhere
		for _, one := range either {
			if object, _ := one.(map[string]any); object["type"] != "null" {
				readable(t, document, at, one, into, missing)
			}
		}
		return
	}
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	wants := ""
	switch into.Kind() {
	case reflect.String:
		wants = "string"
	case reflect.Bool:
		wants = "boolean"
	case reflect.Int, reflect.Int64:
		wants = "integer"
	case reflect.Float64:
		wants = "number integer"
	case reflect.Slice:
		wants = "array"
	case reflect.Map, reflect.Struct:
		wants = "object"
	}
	switch into {
	case reflect.TypeFor[time.Time]():
		wants = "string"
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return
	}
	given := strings.Fields(strings.Trim(fmt.Sprint(of["type"]), "[]"))
	if len(given) == 0 || slices.ContainsFunc(given, func(one string) bool {
		return one != "null" && !slices.Contains(strings.Fields(wants), one)
	}) {
		t.Errorf("%s is %v in the description, and %s in package client", at, of["type"], into)
		return
	}
	switch {
	case into == reflect.TypeFor[time.Time]():
	case into.Kind() == reflect.Slice:
		readable(t, document, at+"[]", of["items"], into.Elem(), missing)
	case into.Kind() == reflect.Map:
		if more, ok := of["additionalProperties"].(map[string]any); ok {
			readable(t, document, at+"{}", more, into.Elem(), missing)
		}
	case into.Kind() == reflect.Struct:
		properties, _ := of["properties"].(map[string]any)
		for _, field := range reflect.VisibleFields(into) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous || name == "-" {
				continue
			}
			found := false
			for property, schema := range properties {
				if strings.EqualFold(property, name) || name == "" && strings.EqualFold(property, field.Name) {
					found = true
					readable(t, document, at+"."+property, schema, field.Type, missing)
				}
			}
			if !found && !slices.Contains(missing, name) {
				t.Errorf("%s has no field of that name in the description: %s %q", at, field.Name, name)
			}
		}
	}
}
