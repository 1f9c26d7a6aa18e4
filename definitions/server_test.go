package definitions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// fakeServer stores documents like the real server, with the same codec, rules and handling of secrets.
type fakeServer struct {
	apps     map[string]app.Config
	jobs     map[string]jobs.Config
	disabled map[string]bool // "app x" or "job x"
	running  map[string]int
	waiting  map[string]int
	began    map[string]bool   // jobs that start a run just after their shards were counted
	unlisted map[string]bool   // jobs that are on no page of the list
	refuse   map[string]string // calls that fail
	calls    []string          // the calls that change something
}

func newServer() *fakeServer {
	return &fakeServer{map[string]app.Config{}, map[string]jobs.Config{}, map[string]bool{}, map[string]int{},
		map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]string{}, nil}
}

func (s *fakeServer) Call(_ context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	call := method + " " + path
	if message, refused := s.refuse[call]; refused {
		return &definitions.Refusal{Message: message}
	}
	if method != "GET" && !strings.Contains(path, "/check") {
		if body != nil {
			s.calls = append(s.calls, call+" "+string(text))
		} else {
			s.calls = append(s.calls, call)
		}
	}
	result, err := s.answer(method, path, text)
	if err != nil || answer == nil {
		return err
	}
	text, err = json.Marshal(result)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// answer carries out a request and returns its answer.
func (s *fakeServer) answer(method, path string, body []byte) (any, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	name := parts[min(1, len(parts)-1)]
	switch {
	case path == "/app/list":
		var all []app.Config
		for _, app := range s.apps {
			all = append(all, app.WithoutSecrets())
		}
		return all, nil
	case path == "/job/jobs":
		var all []jobs.Config
		for _, job := range s.jobs {
			all = append(all, job.WithoutSecrets())
		}
		return all, nil
	case strings.HasPrefix(path, "/jobs?"):
		return s.page(path)
	case strings.HasSuffix(path, "/disable") && method == "GET":
		return s.disabled["app "+name], nil
	case strings.HasSuffix(path, "/explain"):
		return map[string]any{"state": s.state(name)}, nil
	case len(parts) == 3 || method == "DELETE":
		return map[string]any{"state": s.state(name)}, s.command(method, parts)
	case strings.HasPrefix(path, "/app"):
		return nil, s.putApp(method, body)
	case path == "/job/check":
		return nil, s.putJob("CHECK", body)
	case path == "/job/check?update=true":
		return nil, s.putJob("CHECK PUT", body)
	case strings.HasPrefix(path, "/job"):
		return nil, s.putJob(method, body)
	}
	return nil, fmt.Errorf("no route %s %s", method, path)
}

func (s *fakeServer) page(path string) (any, error) {
	query, err := url.ParseQuery(path[strings.Index(path, "?")+1:])
	var page struct{ Rows []map[string]any }
	for name, job := range s.jobs {
		if app := query.Get("app"); (app == "" || app == job.AppName) && !s.unlisted[name] {
			page.Rows = append(page.Rows, map[string]any{"jobName": name, "state": s.state(name),
				"running": s.running[name], "waiting": s.waiting[name]})
		}
	}
	return page, err
}

func (s *fakeServer) state(job string) string {
	switch {
	case s.began[job]:
		return "SHUTTING_DOWN"
	case s.disabled["job "+job]:
		return "DISABLED"
	}
	return "READY"
}

// command carries out a deletion or a command such as enable.
func (s *fakeServer) command(method string, parts []string) error {
	key := parts[0] + " " + parts[1]
	switch {
	case method == "DELETE" && parts[0] == "app":
		for name, job := range s.jobs {
			if job.AppName == parts[1] {
				return &definitions.Refusal{Message: "it has the job " + name}
			}
		}
		delete(s.apps, parts[1])
	case method == "DELETE":
		delete(s.jobs, parts[1])
	case parts[2] == "disable", parts[2] == "shutdown":
		s.disabled[key] = true
	case parts[2] == "enable":
		s.disabled[key] = false
	}
	return nil
}

func (s *fakeServer) putApp(method string, body []byte) error {
	name, err := app.Schema.Name(body)
	base, exists := s.apps[name]
	if exists != (method == "PUT") {
		err = errors.New("a document to create exists, or one to update does not")
	}
	if method == "POST" {
		base = app.Default()
	}
	c, _, decodeErr := app.Schema.Decode(body, base.WithoutSecrets())
	c, notKept := c.KeepSecrets(base)
	if err := errors.Join(err, refusal(decodeErr, notKept.And(
		c.Check(app.CheckOptions{AllowFile: true})))); err != nil {
		return err
	}
	s.apps[name] = c
	return nil
}

func (s *fakeServer) putJob(method string, body []byte) error {
	name, err := jobs.Schema.Name(body)
	base, exists := s.jobs[name]
	if exists != strings.HasSuffix(method, "PUT") {
		err = errors.New("a document to create exists, or one to update does not")
	}
	if !exists {
		base = jobs.Default()
	}
	c, _, decodeErr := jobs.Schema.Decode(body, base.WithoutSecrets())
	c, notKept := c.KeepSecrets(base)
	bad, _ := c.Check(jobs.CheckOptions{Now: now, Reserved: func(name string) bool { return name == "trigger" }})
	if _, exists := s.apps[c.AppName]; !exists {
		bad = append(bad, document.Violate("appName", c.AppName, "there is no such app"))
	}
	if err := errors.Join(err, refusal(decodeErr, notKept.And(bad))); err != nil || strings.HasPrefix(method, "CHECK") {
		return err
	}
	s.jobs[name] = c
	return nil
}

// refusal returns err, or else the violations as a Refusal; nil if there are none.
func refusal(err error, bad document.Violations) error {
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return &definitions.Refusal{Message: "invalid", Fields: bad}
	}
	return nil
}

// changes returns the calls that changed something since the last call of changes.
func (s *fakeServer) changes() []string {
	made := slices.Clone(s.calls)
	s.calls = nil
	return made
}
