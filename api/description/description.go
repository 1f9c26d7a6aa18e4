// Package description describes the API as an OpenAPI document. It builds it from the table of routes, the Go types of
// bodies and answers, and the schemas of apps and jobs.
package description

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/openapi"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// apiDocument is the document and its ETag.
type apiDocument struct {
	text []byte
	etag string
}

// Options are the sources of the document.
type Options struct {
	Answers *answer.Writer
	Version string
	// Table returns all routes. It is called once, by the first request.
	Table func() []route.Route
}

// Handlers handles the route of the document.
type Handlers struct {
	Options
	document func() (*apiDocument, error) // builds the document at its first call
}

// New returns the handlers.
func New(o Options) *Handlers {
	h := &Handlers{Options: o}
	h.document = sync.OnceValues(h.describe)
	return h
}

// Routes returns the route of the document.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("The server", []route.Route{
		{Method: get, Path: "/api/openapi.json", Rule: route.Viewers, Raw: h.openAPI, Local: true,
			Does: route.Does("Describes this API, as OpenAPI 3.1").Gives(map[string]any{})},
	})
}

// describe builds the document.
func (h *Handlers) describe() (*apiDocument, error) {
	schemas, err := documentSchemas()
	if err != nil {
		return nil, err
	}
	var operations []openapi.Operation
	for _, r := range h.Table() {
		operations = append(operations, r.Operation())
	}
	text, err := openapi.New(apiInfo(h.Version), typeFacts(), schemas, operations)
	if err != nil {
		return nil, err
	}
	return &apiDocument{text, fmt.Sprintf(`"%x"`, sha256.Sum256(text))}, nil
}

// openAPI answers with the document. The first request builds it.
func (h *Handlers) openAPI(c *gin.Context) {
	if err := request.QueryOf(c).Err(); err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	doc, err := h.document()
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	c.Header("Content-Type", route.JSON)
	c.Header("Cache-Control", "no-cache")
	c.Header("ETag", doc.etag)
	h.Answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(doc.text))
	})
}

// documentSchemas returns the schemas of the bodies that publish and change apps and jobs, and that trigger jobs. App
// and Job are like the answers of GET /api/schema/app and GET /api/schema/job, but App has the fields for all kinds of
// clusters. In AppChange, JobChange and TriggerSettings fields may be missing or null.
func documentSchemas() (map[string]openapi.Schema, error) {
	appSchema, err := plainSchema(app.Schema.JSONSchema("App", app.Hints()))
	if err != nil {
		return nil, err
	}
	jobSchema, err := plainSchema(jobs.Schema.JSONSchema("Job", jobs.Hints()))
	if err != nil {
		return nil, err
	}
	triggerFields := request.FieldNames(reflect.TypeFor[jobs.Overrides]())
	return map[string]openapi.Schema{
		"App": appSchema, "AppChange": changeSchema(appSchema, "appName"),
		"Job": jobSchema, "JobChange": changeSchema(jobSchema, "jobName"),
		"TriggerSettings": changeSchema(jobSchema, "", triggerFields...),
	}, nil
}

func plainSchema(schema *document.JSONSchema) (plain openapi.Schema, err error) {
	text, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	delete(plain, "$schema") // the OpenAPI document declares it for all schemas
	return plain, err
}

// changeSchema returns the schema of a change of a document. Only the field nameField is required: it has the
// document's name. Any other field may be missing, or null for its default. If fields are given, the schema has only
// these fields.
func changeSchema(whole openapi.Schema, nameField string, fields ...string) openapi.Schema {
	all, _ := whole["properties"].(map[string]any)
	properties := map[string]any{}
	for name, schema := range all {
		switch {
		case name == nameField:
			properties[name] = schema
		case len(fields) == 0 || slices.Contains(fields, name):
			properties[name] = openapi.Schema{"anyOf": []any{schema, openapi.Schema{"type": "null"}}}
		}
	}
	change := openapi.Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if nameField != "" {
		change["required"] = []string{nameField}
	}
	return change
}
