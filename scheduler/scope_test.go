package scheduler_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestAScopeLimitsActions calls all methods that take a Scope. Each refuses the zero Scope, and for a scope of
// another app the object to change does not exist.
func TestAScopeLimitsActions(t *testing.T) {
	leading(t, func(s *stage) { s.cluster.holds = true }, func(t *testing.T, s *stage) {
		id, err := s.Trigger(t.Context(), explain.All(), "my_job", "")
		if err != nil {
			t.Fatal(err)
		}
		task := ""
		eventually(t, "it runs", func() bool {
			tasks, err := list(t.Context(), s.Scheduler, explain.Reader.RunningTasks)
			if err == nil && len(tasks) == 3 {
				task = tasks[0].TaskID
			}
			return task != ""
		})
		denied := errors.New("this app is not to be published")
		others := explain.Apps(func(app string) bool { return app == "other" }, func(string) error { return denied })
		before := len(s.diary.all())
		writes := 0
		v := reflect.ValueOf(s.Scheduler)
		for i := range v.NumMethod() {
			name, method := v.Type().Method(i).Name, v.Method(i)
			if method.Type().NumIn() < 2 || method.Type().In(1) != reflect.TypeFor[explain.Scope]() {
				continue
			}
			of := "my_job"
			switch {
			case strings.Contains(name, "App"):
				of = "my_app"
			case strings.Contains(name, "Task"):
				of = task
			case strings.Contains(name, "Execution"), strings.Contains(name, "Again"):
				of = id
			}
			call := func(scope explain.Scope) error {
				in := []reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(scope)}
				for p := 2; p < method.Type().NumIn(); p++ {
					in = append(in, reflect.Zero(method.Type().In(p)))
					if in[p].Kind() == reflect.String {
						in[p] = reflect.ValueOf(of)
					}
				}
				out := method.Call(in)
				err, _ := out[len(out)-1].Interface().(error)
				return err
			}
			if err := call(explain.Scope{}); !errors.Is(err, explain.ErrNotAuthenticated) {
				t.Errorf("%s with the zero Scope: %v", name, err)
			}
			switch name {
			case "Read", "JobPage", "Summary", "Overview", "Follow": // they return what is in the scope
				continue
			}
			writes++
			err := call(others)
			e := refused(err)
			if isHidden := e != nil && (e.Kind == problem.NotFound || e.Kind == problem.Forbidden); !isHidden &&
				!errors.Is(err, denied) {
				t.Errorf("%s with a scope of another app: %v", name, err)
			}
		}
		if n := len(s.diary.all()); n != before || writes < 15 {
			t.Errorf("of %d methods some did something: %v", writes, s.diary.all()[before:])
		}
		move := func(c jobs.Config) (jobs.Config, error) {
			c.AppName = "theirs"
			return c, nil
		}
		mine := explain.Apps(func(app string) bool { return app == "my_app" }, func(string) error { return denied })
		if _, err := s.UpdateJob(t.Context(), mine, "my_job", move); !errors.Is(err, denied) {
			t.Errorf("a job is moved to an app that may not be published: %v", err)
		}
		if err := s.KillTask(context.Background(), mine, task); err != nil {
			t.Errorf("a task of their own: %v", err)
		}
	})
}
