// Package description describes the API as OpenAPI: from the table of routes, the types that are sent, and the schemas of
// documents.
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

// describedAPI is the description of the API as it is sent.
type describedAPI struct {
	text []byte
	tag  string
}

// Options are what the description of the API is made of.
type Options struct {
	Answers *answer.Writer
	Version string
	// Table is that of all routes.
	Table func() []route.Route
}

// Handlers answer with the description of the API.
type Handlers struct {
	Options
	described func() (*describedAPI, error)
}

// New makes the handlers.
func New(o Options) *Handlers {
	h := &Handlers{Options: o}
	h.described = sync.OnceValues(h.describe)
	return h
}

// Routes is that of the description.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("The server", []route.Route{
		{Method: get, Path: "/api/openapi.json", Rule: route.Readers, Raw: h.openAPI, Local: true,
			Does: route.Does("Describes this API, as OpenAPI 3.1").Gives(map[string]any{})},
	})
}

// describe writes the description. It is made of the table of routes, of the types that are sent, and of the schemas
// of documents.
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

// JSON is the description.
func (h *Handlers) JSON() ([]byte, error) {
	made, err := h.described()
	if err != nil {
		return nil, err
	}
	return made.text, nil
}

// openAPI answers with the description, which is made when it is first asked for.
func (h *Handlers) openAPI(c *gin.Context) {
	if err := request.QueryOf(c).Err(); err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	made, err := h.described()
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	c.Header("Content-Type", route.JSON)
	c.Header("Cache-Control", "no-cache")
	c.Header("ETag", made.tag)
	h.Answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(made.text))
	})
}

// documentSchemas are those of the bodies that apps and jobs are published and changed with: the ones that GET
// /api/schema/app and GET /api/schema/job answer with, and what may be left out of a change, or be null.
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
	delete(plain, "$schema") // the document says it of all
	return plain, err
}

// changeSchema is a document's schema where any field may be missing, or null for its default, but the one that names
// the document. With names it has those fields alone.
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
