package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
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

// describe writes the description. It is made of the table of routes, of the types that are sent, and of the schemas
// of documents.
func (s *Server) describe() (*describedAPI, error) {
	more, err := documentSchemas()
	if err != nil {
		return nil, err
	}
	var operations []openapi.Operation
	for _, r := range s.table {
		operations = append(operations, r.Operation())
	}
	text, err := openapi.New(apiInfo(s.opts.Version), describedTypes(), more, operations)
	if err != nil {
		return nil, err
	}
	return &describedAPI{text, fmt.Sprintf(`"%x"`, sha256.Sum256(text))}, nil
}

// openAPI answers with the description, which is made when it is first asked for.
func (s *Server) openAPI(c *gin.Context) {
	if err := request.QueryOf(c).Err(); err != nil {
		s.answers.Fail(c.Writer, c.Request, err)
		return
	}
	made, err := s.description()
	if err != nil {
		s.answers.Fail(c.Writer, c.Request, err)
		return
	}
	c.Header("Content-Type", route.JSON)
	c.Header("Cache-Control", "no-cache")
	c.Header("ETag", made.tag)
	s.answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(made.text))
	})
}

// docs is the page that shows the description. It is as open as the console, and tells as little: what it shows it
// asks for, as its reader.
func (s *Server) docs(c *gin.Context) {
	if s.opts.Console == nil {
		s.answers.Fail(c.Writer, c.Request,
			failure.NotFound("no_console", "this server has no pages for browsers; GET /api/openapi.json has what this one would show"))
		return
	}
	c.Header("Content-Security-Policy", pagePolicy)
	c.Status(http.StatusOK)
	s.opts.Console.Docs(c.Writer, c.Request)
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
