package api_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeScheduler is a scheduler that remembers documents and counts changes.
type fakeScheduler struct {
	mu       sync.Mutex
	apps     map[string]core.AppView
	jobs     map[string]core.JobView
	keys     map[string]string
	forgot   []string
	killed   []string
	own      []jobs.Overrides // of triggers
	changes  int
	filters  []core.ExecutionFilter
	places   map[string]core.LogPlace
	queued   string // a task that has not begun
	health   scheduler.Health
	stats    core.Stats
	leader   scheduler.LeaderView
	gap      time.Duration // how long reconciliation may not be asked for
	explain  func(ctx context.Context, job string) (core.Explanation, error)
	failWith error // of every change
	resigned bool
}

func newFakeScheduler() *fakeScheduler {
	return &fakeScheduler{apps: map[string]core.AppView{}, jobs: map[string]core.JobView{}, keys: map[string]string{},
		places: map[string]core.LogPlace{}, health: scheduler.Health{Leading: true, Subscribed: true}}
}

func refuse(kind core.Kind, code, format string, args ...any) error {
	return &core.Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// change runs one change under the lock; one that fails changes nothing.
func change[V any](b *fakeScheduler, do func() (V, error)) (V, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failWith != nil {
		var none V
		return none, b.failWith
	}
	v, err := do()
	if err == nil {
		b.changes++
	}
	return v, err
}

func (b *fakeScheduler) changed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes
}

func find[V any](b *fakeScheduler, in map[string]V, what, name string) (V, error) {
	v, ok := in[name]
	if !ok {
		return v, refuse(core.NotFound, what+"_not_found", "there is no %s %q", what, name)
	}
	return v, nil
}

func (b *fakeScheduler) Apps(context.Context) ([]core.AppView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []core.AppView
	for _, name := range slices.Sorted(maps.Keys(b.apps)) {
		all = append(all, b.apps[name])
	}
	return all, nil
}

func (b *fakeScheduler) App(_ context.Context, name string) (core.AppView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return find(b, b.apps, "app", name)
}

func (b *fakeScheduler) RegisterApp(_ context.Context, c app.Config) (core.AppView, error) {
	return change(b, func() (core.AppView, error) {
		if _, ok := b.apps[c.AppName]; ok {
			return core.AppView{}, refuse(core.Conflict, "app_exists", "app '%s' already existed.", c.AppName)
		}
		b.apps[c.AppName] = core.AppView{Config: c}
		return b.apps[c.AppName], nil
	})
}

func (b *fakeScheduler) UpdateApp(_ context.Context, name string, alter func(app.Config) (app.Config, error)) (core.AppView, error) {
	return change(b, func() (core.AppView, error) {
		v, err := find(b, b.apps, "app", name)
		if err != nil {
			return v, err
		}
		if v.Config, err = alter(v.Config); err != nil {
			return v, fmt.Errorf("update app %s: %w", name, err)
		}
		b.apps[name] = v
		return v, nil
	})
}

func (b *fakeScheduler) SetAppDisabled(_ context.Context, name string, disabled bool) (core.AppView, error) {
	return change(b, func() (core.AppView, error) {
		v, err := find(b, b.apps, "app", name)
		if err == nil {
			v.Disabled = disabled
			b.apps[name] = v
		}
		return v, err
	})
}

func (b *fakeScheduler) DeleteApp(_ context.Context, name string, withJobs bool) (core.AppView, error) {
	return change(b, func() (core.AppView, error) {
		v, err := find(b, b.apps, "app", name)
		if err != nil {
			return v, err
		}
		var users []string
		for _, job := range slices.Sorted(maps.Keys(b.jobs)) {
			if b.jobs[job].Config.AppName == name {
				users = append(users, job)
			}
		}
		if len(users) > 0 && !withJobs {
			return v, refuse(core.Conflict, "app_has_jobs", "app %q has jobs: %s", name, users)
		}
		maps.DeleteFunc(b.jobs, func(_ string, j core.JobView) bool { return j.Config.AppName == name })
		delete(b.apps, name)
		return v, nil
	})
}

func (b *fakeScheduler) Jobs(context.Context) ([]core.JobView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []core.JobView
	for _, name := range slices.Sorted(maps.Keys(b.jobs)) {
		all = append(all, b.jobs[name])
	}
	return all, nil
}

func (b *fakeScheduler) Job(_ context.Context, name string) (core.JobView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return find(b, b.jobs, "job", name)
}

func (b *fakeScheduler) RegisterJob(_ context.Context, c jobs.Config) (core.JobView, error) {
	return change(b, func() (core.JobView, error) {
		owner, err := find(b, b.apps, "app", c.AppName)
		switch _, exists := b.jobs[c.JobName]; {
		case err != nil:
			return core.JobView{}, err
		case owner.Disabled:
			return core.JobView{}, refuse(core.Conflict, "app_disabled", "app %q is disabled", c.AppName)
		case exists:
			return core.JobView{}, refuse(core.Conflict, "job_exists", "Job '%s' already existed.", c.JobName)
		}
		b.jobs[c.JobName] = core.JobView{Config: c}
		return b.jobs[c.JobName], nil
	})
}

func (b *fakeScheduler) UpdateJob(_ context.Context, name string, alter func(jobs.Config) (jobs.Config, error)) (core.JobView, error) {
	return change(b, func() (core.JobView, error) {
		v, err := find(b, b.jobs, "job", name)
		if err != nil {
			return v, err
		}
		if v.Config, err = alter(v.Config); err != nil {
			return v, fmt.Errorf("update job %s: %w", name, err)
		}
		b.jobs[name] = v
		return v, nil
	})
}

func (b *fakeScheduler) SetJobDisabled(_ context.Context, name string, disabled bool) (core.JobView, error) {
	return change(b, func() (core.JobView, error) {
		v, err := find(b, b.jobs, "job", name)
		if err == nil {
			v.Disabled = disabled
			b.jobs[name] = v
		}
		return v, err
	})
}

func (b *fakeScheduler) DeregisterJob(_ context.Context, name string) (core.JobView, error) {
	return change(b, func() (core.JobView, error) {
		v, err := find(b, b.jobs, "job", name)
		delete(b.jobs, name)
		return v, err
	})
}

func (b *fakeScheduler) TriggerWith(_ context.Context, job, key string, own jobs.Overrides) (string, error) {
	return change(b, func() (string, error) {
		v, err := find(b, b.jobs, "job", job)
		if err != nil {
			return "", err
		}
		if v.Disabled {
			return "", refuse(core.Conflict, "job_disabled", "job %q is disabled", job)
		}
		if bad := own.Check(v.Config); len(bad) > 0 {
			return "", &core.Error{Kind: core.Invalid, Code: "invalid", Message: "this request changed nothing: " + bad.Error(), Violations: bad}
		}
		b.own = append(b.own, own)
		if key == "" {
			return "exec-" + job, nil
		}
		if b.keys[key] == "" {
			b.keys[key] = fmt.Sprintf("exec-%s-%d", job, len(b.keys))
		}
		return b.keys[key], nil
	})
}

func (b *fakeScheduler) Explain(ctx context.Context, job string) (core.Explanation, error) {
	if b.explain != nil {
		return b.explain(ctx, job)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := find(b, b.jobs, "job", job)
	return core.Explanation{JobName: job, State: "ON_TRIGGER"}, err
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (b *fakeScheduler) Execution(_ context.Context, id string) (core.ExecutionView, error) {
	if id != "exec-1" {
		return core.ExecutionView{}, refuse(core.NotFound, "execution_not_found", "there is no execution %q", id)
	}
	status := 3
	return core.ExecutionView{ExecutionID: id, JobName: "my_job", FireTime: noon, Source: core.NormalTrigger,
		State: core.Failed, Reason: "shard 0 failed", Shards: []core.ShardView{{State: core.Failed, Attempt: 1,
			Agent: "a1", TaskID: "t1", StartTime: &noon, CompleteTime: &noon, ExitStatus: &status, FailureCause: "boom", PackageSHA256: "0e1b"}}}, nil
}

func (b *fakeScheduler) Executions(_ context.Context, f core.ExecutionFilter) ([]core.ExecutionSummary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := find(b, b.jobs, "job", f.Job); err != nil && f.Known {
		return nil, err
	}
	b.filters = append(b.filters, f)
	if f.Job == "never_ran" {
		return nil, nil
	}
	return []core.ExecutionSummary{{ExecutionID: "exec-1", JobName: "my_job", FireTime: noon, Source: core.NormalTrigger, State: core.Failed,
		Reason: "shard 0 failed", StartTime: &noon, CompleteTime: &noon, Shards: map[core.State]int{core.Failed: 1}}}, nil
}

func (b *fakeScheduler) RunningTasks(context.Context) ([]core.TaskView, error) {
	return []core.TaskView{{TaskID: "my_job@-@2@-@READY@-@S0@-@u", JobName: "my_job", Item: 2, Type: "READY", Agent: "S0",
		ExecutionID: "exec-1", State: core.Running}}, nil
}

func (b *fakeScheduler) ReadyJobs(context.Context) ([]core.ReadyView, error) {
	return []core.ReadyView{{JobName: "my_job", Times: 2}}, nil
}

func (b *fakeScheduler) FailoverShards(context.Context) ([]core.FailoverView, error) {
	return []core.FailoverView{{JobName: "my_job", Item: 1, OriginalTaskID: "old"}}, nil
}

func (b *fakeScheduler) ForgetTask(_ context.Context, id string) error {
	_, err := change(b, func() (int, error) {
		b.forgot = append(b.forgot, id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) KillTask(_ context.Context, id string) error {
	_, err := change(b, func() (int, error) {
		if id == "over" {
			return 0, refuse(core.Conflict, "task_ended", "task %q has ended as FINISHED", id)
		}
		b.killed = append(b.killed, "task "+id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) KillExecution(_ context.Context, id string) error {
	_, err := change(b, func() (int, error) {
		if id == "none" {
			return 0, refuse(core.NotFound, "execution_not_found", "there is no execution %q", id)
		}
		b.killed = append(b.killed, "execution "+id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) LogPlace(_ context.Context, id string) (core.LogPlace, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.resigned {
		return core.LogPlace{}, refuse(core.Unavailable, "not_leading", "no leader here")
	}
	place, err := find(b, b.places, "task", id)
	if err != nil && id == b.queued {
		err = refuse(core.Unavailable, "no_output_yet", "task %q has no output yet", id)
	}
	return place, err
}

func (b *fakeScheduler) place(id string, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[id] = core.LogPlace{AgentURL: "http://agent:5051", Dir: "/sandbox/tasks/1", Live: live}
}

func (b *fakeScheduler) Reconcile(context.Context, bool) error {
	if b.gap > 0 {
		return &core.Error{Kind: core.TooSoon, Code: "too_soon", Message: "asked a moment ago", RetryAfter: b.gap}
	}
	return nil
}

func (b *fakeScheduler) Sandboxes(_ context.Context, app string) ([]core.SandboxView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := find(b, b.apps, "app", app)
	if err != nil {
		return nil, err
	}
	return []core.SandboxView{{Hostname: "h1", Path: "/slaves/S1/runs/latest"}}, nil
}

func (b *fakeScheduler) Leader() (scheduler.LeaderView, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leader, b.leader.Address != ""
}

func (b *fakeScheduler) Health() scheduler.Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.health
}

func (b *fakeScheduler) Stats() core.Stats { return b.stats }

// follows makes it see another leader; with leads it is that itself.
func (b *fakeScheduler) follows(address string, leads bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leader = scheduler.LeaderView{Address: address, Term: b.leader.Term + 1, Since: noon, Self: leads}
	b.health = scheduler.Health{Leading: leads, Subscribed: leads}
}

// resign makes it know of no task any more.
func (b *fakeScheduler) resign() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resigned = true
}

// files is an agent's files.
type files struct {
	mu    sync.Mutex
	texts map[string]string
	err   error
	reads chan struct{} // if not nil, receives each read
}

func (f *files) set(path, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts == nil {
		f.texts = map[string]string{}
	}
	f.texts[path] = text
}

func (f *files) text(path string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	text, ok := f.texts[path]
	if !ok {
		return "", fmt.Errorf("read %s: %w", path, cluster.ErrGone)
	}
	return text, nil
}

func (f *files) Read(ctx context.Context, _, path string, offset int64, length int) ([]byte, error) {
	if f.reads != nil {
		select {
		case f.reads <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	text, err := f.text(path)
	if err != nil || offset >= int64(len(text)) {
		return nil, err
	}
	return []byte(text[offset:min(int64(len(text)), offset+int64(length))]), nil
}

func (f *files) Size(_ context.Context, _, path string) (int64, error) {
	text, err := f.text(path)
	return int64(len(text)), err
}

// start serves the API on a loopback port until the test ends.
func start(t *testing.T, opts api.Options) *httptest.Server {
	t.Helper()
	if opts.Logs == nil {
		opts.Logs = &files{}
	}
	if opts.Now == nil {
		opts.Now = func() time.Time { return noon }
	}
	if opts.FollowEvery == 0 {
		opts.FollowEvery = time.Millisecond
	}
	server := httptest.NewServer(api.New(opts))
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return server
}

// call sends a request and reads the whole answer. Headers are "Name: value".
func call(t *testing.T, server *httptest.Server, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}
