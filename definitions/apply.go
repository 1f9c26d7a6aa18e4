package definitions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// ApplyOptions say how to apply a plan.
type ApplyOptions struct {
	// Kill allows steps that kill running or waiting shards. Without it, Apply shuts a job down instead of disabling
	// it, so that its running shards can finish, and each step that would kill shards fails.
	Kill bool
	// Report is called with the result of each step that changes something.
	Report func(Result)
}

// Result is the result of a step. Err is nil if it succeeded.
type Result struct {
	*Step
	Err error
}

// String describes the result in one line.
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

// errAppFailed is the error of a job whose app could not be created or changed. errJobFailed is the error of an app
// that is not enabled because a job of it failed.
var (
	errAppFailed = errors.New("not tried, because its app failed")
	errJobFailed = errors.New("not enabled, because a job of it failed and would fire with its old settings")
)

// Check asks the server which new and changed jobs it would reject, and changes nothing. It skips the jobs of an app
// that does not exist yet, because the server cannot check them. The error is of type Problems, unless a request fails
// for another reason.
func (p *Plan) Check(ctx context.Context, server API) error {
	var problems Problems
	newApps := map[string]bool{}
	for _, s := range p.Steps {
		if s.Kind == App {
			newApps[s.Name()] = s.Action == Create
		}
		if s.Kind != Job || s.body == nil || newApps[s.Job.AppName] {
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
	return problems.orNil()
}

// problems returns the violations in a refusal of the step, with their positions in the file.
func (s *Step) problems(refusal *Refusal) (all Problems) {
	for _, v := range refusal.Fields {
		all = append(all, Problem{s.positionOf(v.Field), s.String(), v.Field, v.Value, v.Message})
	}
	if len(all) == 0 {
		all = Problems{{At: s.At, Subject: s.String(), Message: refusal.Message}}
	}
	return all
}

// Apply performs the steps in order, and continues after a step has failed. It enables apps last, because otherwise
// their jobs could fire with settings that later steps change. It returns the number of failed steps, and an error
// only if ctx ended before the last step.
func (p *Plan) Apply(ctx context.Context, server API, options ApplyOptions) (failed int, err error) {
	a := &applier{server, options, map[string]bool{}, map[string]bool{}, 0}
	var toEnable []*Step
	for _, s := range p.Steps {
		switch err := ctx.Err(); {
		case err != nil:
			return a.failed, fmt.Errorf("stopped before %s: %w", s, context.Cause(ctx))
		case s.Action == Keep:
		case s.Kind == App && s.Enable:
			if err := a.send(ctx, s); err != nil {
				a.report(s, err)
			} else {
				toEnable = append(toEnable, s)
			}
		default:
			a.report(s, a.perform(ctx, s))
		}
	}
	for _, s := range toEnable {
		if err := ctx.Err(); err != nil {
			return a.failed, fmt.Errorf("stopped before %s was enabled: %w", s, context.Cause(ctx))
		}
		a.report(s, a.enableApp(ctx, s))
	}
	return a.failed, nil
}

// applier applies one plan.
type applier struct {
	server  API
	options ApplyOptions
	// failedApps are the apps whose step failed; failedJobsOf are the apps with a job whose step failed.
	failedApps, failedJobsOf map[string]bool
	failed                   int
}

// report reports the result of a step, and records the app or the app of the job if the step failed.
func (a *applier) report(s *Step, err error) {
	if err != nil {
		a.failed++
		if s.Kind == App {
			a.failedApps[s.Name()] = true
		} else {
			a.failedJobsOf[s.Job.AppName] = true
		}
	}
	a.options.Report(Result{s, err})
}

// perform performs any step except one that enables an app.
func (a *applier) perform(ctx context.Context, s *Step) error {
	switch {
	case s.Action == Remove:
		return a.remove(ctx, s)
	case s.Kind == Job && a.failedApps[s.Job.AppName]:
		return errAppFailed
	case s.Disable && s.Action == Change: // disable first, so that no job fires with the new settings
		if err := a.disable(ctx, s); err != nil {
			return err
		}
		return a.send(ctx, s)
	}
	if err := a.send(ctx, s); err != nil {
		return err
	}
	switch {
	case s.Enable:
		return a.command(ctx, s, "enable", nil)
	case s.Disable:
		return a.command(ctx, s, "disable", nil)
	}
	return nil
}

// enableApp enables an app whose document is already sent, unless a step of one of its jobs has failed.
func (a *applier) enableApp(ctx context.Context, s *Step) error {
	if a.failedJobsOf[s.Name()] {
		return errJobFailed
	}
	return a.command(ctx, s, "enable", nil)
}

// path returns the path of the app or job below /api.
func (s *Step) path() string { return "/" + s.Kind.word() + "/" + url.PathEscape(s.Name()) }

// command sends a command about the app or job, such as enable.
func (a *applier) command(ctx context.Context, s *Step, command string, answer any) error {
	return a.server.Call(ctx, http.MethodPost, s.path()+"/"+command, nil, answer)
}

// send sends the document if it is new, or else the fields that differ, if any.
func (a *applier) send(ctx context.Context, s *Step) error {
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
	return a.server.Call(ctx, method, path, s.body, nil)
}

// disable disables an app or job. If shards must not be killed, it instead shuts a job down, so that running shards can
// finish. It then fails if waiting shards would be killed, unless the job is a daemon. Apps cannot be shut down, so it
// fails for an app with running or waiting shards.
func (a *applier) disable(ctx context.Context, s *Step) error {
	switch {
	case a.options.Kill:
		return a.command(ctx, s, "disable", nil)
	case s.Kind == App:
		if err := a.checkIdle(ctx, s); err != nil {
			return err
		}
		return a.command(ctx, s, "disable", nil)
	}
	shards, err := countShards(ctx, a.server, s.Job.AppName, s.Name())
	if err == nil && shards.waiting > 0 && s.Job.JobExecutionType != jobs.Daemon { // a daemon has no run to lose
		err = fmt.Errorf("%d of its shards wait to run, and would be killed: "+
			"apply again when they have begun, or give --kill", shards.waiting)
	}
	if err != nil {
		return err
	}
	return a.command(ctx, s, "shutdown", nil)
}

// remove deletes an app or a job. The server refuses to delete an app that still has jobs.
func (a *applier) remove(ctx context.Context, s *Step) error {
	switch {
	case s.Kind == App:
		return a.server.Call(ctx, http.MethodDelete, s.path(), nil, nil)
	case !a.options.Kill:
		if err := a.shutDown(ctx, s); err != nil {
			return err
		}
	}
	return a.server.Call(ctx, http.MethodDelete, s.path()+"/deregister", nil, nil)
}

// shutDown makes sure that deleting a job kills no shard. It checks that none runs or waits, and then shuts the job
// down. The answer to the shutdown shows whether a run has started in between.
func (a *applier) shutDown(ctx context.Context, s *Step) error {
	if err := a.checkIdle(ctx, s); err != nil {
		return err
	}
	var job struct{ State string }
	if err := a.command(ctx, s, "shutdown", &job); err != nil {
		return err
	}
	if job.State == shuttingDown {
		return errors.New("a run of it has just begun, so it was shut down and not removed: " +
			"apply again when that has ended, or give --kill")
	}
	return nil
}

// checkIdle returns an error if the app or job of the step has running or waiting shards, which the step would kill.
func (a *applier) checkIdle(ctx context.Context, s *Step) error {
	app, job, advice := s.App.AppName, "", "apply again when they have ended, or give --kill"
	if s.Kind == Job {
		app, job = s.Job.AppName, s.Name()
	}
	if s.Job.JobExecutionType == jobs.Daemon { // daemons do not end by themselves
		advice = "give --kill if that is meant"
	}
	shards, err := countShards(ctx, a.server, app, job)
	if n := shards.running + shards.waiting; err == nil && n > 0 {
		err = fmt.Errorf("%d of its shards run or wait, and would be killed: %s", n, advice)
	}
	return err
}
