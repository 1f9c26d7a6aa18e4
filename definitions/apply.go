package definitions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ApplyOptions say how a plan is carried out.
type ApplyOptions struct {
	// Kill removes and disables also jobs with shards that run or wait, which ends these. Without it a job that is disabled is shut down, so
	// that its shards run to their end; a step that would kill shards is not taken, and is reported as failed.
	Kill bool
	// Report is called after each step.
	Report func(Result)
}

// Result is what became of a step. Err is nil if it was done.
type Result struct {
	*Step
	Err error
}

// String is a line for people.
func (r Result) String() string {
	if r.Err != nil {
		return fmt.Sprintf("failed to %s %s: %v", r.Action, r.Step, r.Err)
	}
	done := map[Action]string{Create: "created", Change: "changed", Remove: "removed"}[r.Action]
	var fields []string
	if r.Action == Change {
		fields = topLevel(r.Differences)
		if r.Disable || r.Enable {
			fields = append(fields, "disabled")
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", done, r.Step, strings.Join(fields, ", ")), ": ")
}

// errAppFailed is that of the jobs of an app that could not be made as they need it.
var errAppFailed = errors.New("not tried, since its app failed")

// Check asks the server what it would refuse of the plan, and changes nothing. Jobs of an app that there is not yet can't be asked about.
func (p *Plan) Check(ctx context.Context, server Server) error {
	var problems Problems
	fresh := map[string]bool{}
	for _, s := range p.Steps {
		if s.Kind == App {
			fresh[s.Name()] = s.Action == Create
		}
		if s.Kind != Job || s.body == nil || fresh[s.Job.AppName] {
			continue
		}
		path := "/job/check"
		if s.Action == Change {
			path += "?update=true"
		}
		err := server.Call(ctx, http.MethodPost, path, s.body, nil)
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
			problems = append(problems, s.problems(refusal)...)
		case err != nil:
			return fmt.Errorf("check %s: %w", s, err)
		}
	}
	return problems.OrNil()
}

// problems are what the server refuses, at the lines of the file.
func (s *Step) problems(refusal *Refusal) (all Problems) {
	for _, v := range refusal.Fields {
		all = append(all, Problem{s.lineOf(v.Field), s.String(), v.Field, v.Value, v.Message})
	}
	if len(all) == 0 {
		all = Problems{{At: s.At, Subject: s.String(), Message: refusal.Message}}
	}
	return all
}

// Apply carries the plan out, step by step, whatever becomes of the others. It returns how many failed; the error is why it stopped before
// the end.
func (p *Plan) Apply(ctx context.Context, server Server, options ApplyOptions) (failed int, err error) {
	failedApps := map[string]bool{}
	for _, s := range p.Steps {
		if s.Action == Keep {
			continue
		}
		if err := ctx.Err(); err != nil {
			return failed, fmt.Errorf("stopped before %s: %w", s, context.Cause(ctx))
		}
		result := Result{Step: s}
		if s.Kind == Job && s.Action != Remove && failedApps[s.Job.AppName] {
			result.Err = errAppFailed
		} else {
			result.Err = s.apply(ctx, server, options)
		}
		if result.Err != nil {
			failed++
			failedApps[s.Name()] = failedApps[s.Name()] || s.Kind == App
		}
		options.Report(result)
	}
	return failed, nil
}

func (s *Step) apply(ctx context.Context, server Server, options ApplyOptions) error {
	if s.Action == Remove {
		return s.remove(ctx, server, options)
	}
	if err := s.send(ctx, server); err != nil {
		return err
	}
	switch {
	case s.Enable:
		return server.Call(ctx, http.MethodPost, s.path()+"/enable", nil, nil)
	case s.Disable:
		return s.disable(ctx, server, options)
	}
	return nil
}

// path is that of the app or job below /api.
func (s *Step) path() string { return "/" + s.Kind.word() + "/" + url.PathEscape(s.Name()) }

// send sends the document, or the fields of it that differ.
func (s *Step) send(ctx context.Context, server Server) error {
	if s.body == nil {
		return nil
	}
	method, path := http.MethodPost, "/app"
	switch {
	case s.Kind == Job && s.Action == Create:
		path = "/job/register"
	case s.Kind == Job:
		method, path = http.MethodPut, "/job/update"
	case s.Action == Change:
		method = http.MethodPut
	}
	return server.Call(ctx, method, path, s.body, nil)
}

// disable shuts a job down, unless shards may be killed. Apps can't be shut down: one whose jobs run stays as it is.
func (s *Step) disable(ctx context.Context, server Server, options ApplyOptions) error {
	if s.Kind == Job && s.Action == Change && !options.Kill {
		return server.Call(ctx, http.MethodPost, s.path()+"/shutdown", nil, nil)
	}
	if s.Kind == App && s.Action == Change {
		if err := s.refuseBusy(ctx, server, s.Name(), "", options); err != nil {
			return err
		}
	}
	return server.Call(ctx, http.MethodPost, s.path()+"/disable", nil, nil)
}

// remove deletes an app or a job. An app that has got jobs meanwhile is refused by the server.
func (s *Step) remove(ctx context.Context, server Server, options ApplyOptions) error {
	if s.Kind == App {
		return server.Call(ctx, http.MethodDelete, s.path(), nil, nil)
	}
	if err := s.refuseBusy(ctx, server, s.Job.AppName, s.Name(), options); err != nil {
		return err
	}
	return server.Call(ctx, http.MethodDelete, s.path()+"/deregister", nil, nil)
}

// refuseBusy refuses a step that would kill shards, unless that is wanted.
func (s *Step) refuseBusy(ctx context.Context, server Server, app, job string, options ApplyOptions) error {
	if options.Kill {
		return nil
	}
	shards, err := busy(ctx, server, app, job)
	if err == nil && shards > 0 {
		err = fmt.Errorf("%d of its shards run or wait, and would be killed: apply again when they have ended, or give --kill", shards)
	}
	return err
}
