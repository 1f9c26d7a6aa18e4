// Package description describes the API as an OpenAPI document. It builds the document from the table of routes, the
// Go types of bodies and answers, and the schemas of documents.
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

// describedAPI is the document and its ETag.
type describedAPI struct {
	text []byte
	tag  string
}

// Options are the sources of the document.
type Options struct {
	Answers *answer.Writer
	Version string
	// Table returns all routes. It is called at the first request.
	Table func() []route.Route
}

// Handlers handles the route of the document.
type Handlers struct {
	Options
	described func() (*describedAPI, error)
}

// New returns the handlers.
func New(o Options) *Handlers {
	h := &Handlers{Options: o}
	h.described = sync.OnceValues(h.describe)
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
func (h *Handlers) describe() (*describedAPI, error) {
	more, err := documentSchemas()
	if err != nil {
		return nil, err
	}
	var operations []openapi.Operation
	for _, r := range h.Table() {
		operations = append(operations, r.Operation())
	}
	text, err := openapi.New(apiInfo(h.Version), describedTypes(), more, operations)
	if err != nil {
		return nil, err
	}
	return &describedAPI{text, fmt.Sprintf(`"%x"`, sha256.Sum256(text))}, nil
}

// openAPI answers with the document. The first request builds it.
func (h *Handlers) openAPI(c *gin.Context) {
	if err := request.QueryOf(c).Err(); err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	doc, err := h.described()
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	c.Header("Content-Type", route.JSON)
	c.Header("Cache-Control", "no-cache")
	c.Header("ETag", doc.tag)
	h.Answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(doc.text))
	})
}

// documentSchemas returns the schemas of the bodies that publish and change apps and jobs. They are the schemas that
// GET /api/schema/app and GET /api/schema/job answer with; in those of changes, fields may be missing or null.
func documentSchemas() (map[string]openapi.Schema, error) {
	ofApp, err := plainSchema(app.Schema.JSONSchema("App", app.Hints()))
	if err != nil {
		return nil, err
	}
	ofJob, err := plainSchema(jobs.Schema.JSONSchema("Job", jobs.Hints()))
	if err != nil {
		return nil, err
	}
	settings := changeSchema(ofJob, "", request.FieldNames(reflect.TypeFor[jobs.Overrides]())...)
	return map[string]openapi.Schema{"App": ofApp, "AppChange": changeSchema(ofApp, "appName"), "Job": ofJob,
		"JobChange":       changeSchema(ofJob, "jobName"),
		"TriggerSettings": settings}, nil
}

func plainSchema(schema *document.JSONSchema) (plain openapi.Schema, err error) {
	text, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	delete(plain, "$schema") // the OpenAPI document declares it for all schemas
	return plain, err
}

// changeSchema returns the schema of a change: any field may be missing, or null for its default, except the field
// named, which names the document. If names are given, the schema has only these fields.
func changeSchema(whole openapi.Schema, named string, names ...string) openapi.Schema {
	all, _ := whole["properties"].(map[string]any)
	fields := map[string]any{}
	for name, of := range all {
		switch {
		case name == named:
			fields[name] = of
		case len(names) == 0 || slices.Contains(names, name):
			fields[name] = openapi.Schema{"anyOf": []any{of, openapi.Schema{"type": "null"}}}
		}
	}
	changed := openapi.Schema{"type": "object", "properties": fields, "additionalProperties": false}
	if named != "" {
		changed["required"] = []string{named}
	}
	return changed
}
