package core

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

const accessDenied = "ZooKeeper denies permission"

// TestD15UnreadableEntriesStopNothingElse loads a registry in which some entries cannot be read. Documents, marks and
// the queues of the original must be reported as faulty, and everything else must work. If entries of the scheduler's
// own state, or lists of entries, cannot be read, loading must fail.
func TestD15UnreadableEntriesStopNothingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.app(func(a *app.Config) { a.AppName = "shut_app" })
	s.job(everyFiveSeconds)
	for _, name := range []string{"shut", "marked", "of_shut_app"} {
		s.job(everyFiveSeconds, func(c *jobs.Config) {
			c.JobName = name
			if name == "of_shut_app" {
				c.AppName = "shut_app"
			}
		})
	}
	// shut has the paths of the entries that cannot be read.
	shut := []string{"/config/app/shut_app", "/config/job/shut", "/state/disable/job/marked", "/state/failover/x",
		"/state/ready/x", "/state/running"}
	core, err := s.loadUnreadable(shut...)
	if err != nil {
		t.Fatal(err)
	}
	s.core = core
	s.step()
	for _, path := range shut {
		if !slices.ContainsFunc(s.last.Notes, func(n step.Note) bool {
			return n.Kind == step.NoteFaulty && strings.HasPrefix(n.Detail, path+": ") &&
				strings.Contains(n.Detail, accessDenied)
		}) {
			t.Errorf("the log does not name %s: %+v", path, s.last.Notes)
		}
	}
	unreadable, markUnreadable := reason.DocumentUnreadable(accessDenied), reason.MarkUnreadable(accessDenied)
	want := []views.FaultyView{
		{Path: "/config/app/shut_app", Kind: "app", Name: "shut_app", Why: views.WhyOf(unreadable), Since: s.now},
		{Path: "/config/job/shut", Kind: "job", Name: "shut", Why: views.WhyOf(unreadable), Since: s.now},
		{Path: "/state/disable/job/marked", Kind: "job", Name: "marked", Why: views.WhyOf(markUnreadable),
			Since: s.now},
	}
	if diff := cmp.Diff(want, s.core.views.FaultyDocuments()); diff != "" {
		t.Errorf("the faulty documents differ (-want +got): %s", diff)
	}
	for name, state := range map[string]string{"my_job": "READY", "shut": "FAULTY",
		"of_shut_app": "FAULTY", "marked": "DISABLED"} {
		if x, err := s.core.views.Explain(name); err != nil || x.State != state ||
			state != "READY" && !strings.Contains(strings.Join(x.Notes, ";"), accessDenied) {
			t.Errorf("explain %s: %+v, %v; want state %s", name, x, err, state)
		}
	}
	// Entries that become readable are applied.
	for _, path := range shut[:3] {
		s.edit(path, string(s.stored[path]), 7)
	}
	if f := s.core.views.FaultyDocuments(); len(f) > 0 {
		t.Errorf("readable documents are still shown as faulty: %+v", f)
	}
	if x := s.explain("shut"); x.State != "READY" {
		t.Errorf("explain of a job whose document is readable: %+v", x)
	}
	for _, path := range []string{"/scheduler/fire-cursor", "/scheduler/execution/x", "/ha/framework_id",
		"/config/job", "/state/disable/job"} {
		if _, err := s.loadUnreadable(path); err == nil || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), accessDenied) {
			t.Errorf("loading without %s: %v", path, err)
		}
	}
}

// TestD15ADocumentThatBecomesUnreadableStaysInForce checks that the last good document of a job stays in force when it
// can no longer be read. It must be shown as faulty, with the newest reason, since the first failure.
func TestD15ADocumentThatBecomesUnreadableStaysInForce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	const path = "/config/job/my_job"
	began := s.now
	makeUnreadable := func(why string) {
		events := s.core.Reloaded(path, registry.Entry{Path: path, Version: 1, Unreadable: why}, true)
		if len(events) != 1 {
			t.Fatalf("got the events %+v, want one", events)
		}
		s.step(events...)
	}
	makeUnreadable(accessDenied)
	s.now = s.now.Add(time.Minute)
	makeUnreadable("still " + accessDenied)
	want := views.FaultyView{Path: path, Kind: "job", Name: "my_job",
		Why: views.WhyOf(reason.DocumentUnreadable("still " + accessDenied)), Since: began, LastGood: true}
	if diff := cmp.Diff([]views.FaultyView{want}, s.core.views.FaultyDocuments()); diff != "" {
		t.Errorf("the faulty documents differ (-want +got): %s", diff)
	}
	x := s.explain("my_job")
	if len(x.NextFires) == 0 || !strings.Contains(strings.Join(x.Notes, ";"),
		"last good document is in force: it can't be read") {
		t.Errorf("explain: %+v", x)
	}
	s.edit(path, string(s.stored[path]), 1)
	if len(s.core.views.FaultyDocuments()) != 0 {
		t.Error("a readable document is still shown as faulty")
	}
}

// TestD15AnUnreadableDisabledMarkIsShown checks that a disabled mark that cannot be read disables its job, and is
// shown as faulty, until it can be read or is removed.
func TestD15AnUnreadableDisabledMarkIsShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	const path = "/state/disable/job/my_job"
	for _, found := range []bool{true, false} {
		s.step(s.core.Reloaded(path, registry.Entry{Path: path, Version: 1, Unreadable: accessDenied}, true)...)
		if f := s.core.views.FaultyDocuments(); len(f) != 1 || f[0].Path != path {
			t.Errorf("faulty: %+v", f)
		}
		if x := s.explain("my_job"); x.State != "DISABLED" || !strings.Contains(strings.Join(x.Notes, ";"), path) {
			t.Errorf("explain with an unreadable mark: %+v", x)
		}
		if again := s.core.Reloaded(path, registry.Entry{Path: path, Version: 1, Unreadable: accessDenied},
			true); len(again) != 0 {
			t.Errorf("the same fault is reported twice: %+v", again)
		}
		s.step(s.core.Reloaded(path, registry.Entry{Path: path, Version: 1}, found)...)
		if f := s.core.views.FaultyDocuments(); len(f) != 0 {
			t.Errorf("a mark that is readable or removed is still shown as faulty: %+v", f)
		}
		if v, err := s.core.views.Job("my_job"); err != nil || v.Disabled != found {
			t.Errorf("mark found %v, but the job is disabled %v: %v", found, v.Disabled, err)
		}
	}
}

// TestD15APathThatIsTooLongIsShown checks that a node at a path that is too long for an entry is shown as faulty, and
// that nothing is written there.
func TestD15APathThatIsTooLongIsShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := "/config/job/" + strings.Repeat("n", 1100)
	s.step(s.core.Reloaded(path, registry.Entry{Path: path, Unreadable: "too long"}, true)...)
	if f := s.core.views.FaultyDocuments(); len(f) != 1 || f[0].Path != path {
		t.Errorf("faulty: %+v", f)
	}
	written := s.last.Writes
	s.step(s.core.Reloaded(path, registry.Entry{}, false)...)
	if f := s.core.views.FaultyDocuments(); len(f) != 0 {
		t.Errorf("a removed node is still shown as faulty: %+v", f)
	}
	for _, w := range append(written, s.last.Writes...) {
		if len(w.Path) > 1000 {
			t.Errorf("something is written at %s", w.Path)
		}
	}
}

// TestEditedJSONIsCheckedStrictly checks that an externally edited JSON document is checked as strictly as a request:
// names must not be given twice, and must have the right case.
func TestEditedJSONIsCheckedStrictly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	const path = "/config/job/my_job"
	own := string(s.stored[path])
	s.edit(path, strings.Replace(own, "{", `{"cron":"0 0 3 * * ?",`, 1), 1)
	if f := s.core.views.FaultyDocuments(); len(f) != 1 ||
		!strings.Contains(f[0].Reason, "cron is given more than once") {
		t.Errorf("a name given twice: %+v", f)
	}
	s.edit(path, strings.Replace(own, `"cpuCount"`, `"CPUCOUNT"`, 1), 2)
	if f := s.core.views.FaultyDocuments(); len(f) != 0 {
		if !strings.Contains(f[0].Reason, "cpuCount") {
			t.Errorf("a name in capital letters: %+v", f)
		}
	} else if v, err := s.core.views.Job("my_job"); err != nil || !strings.Contains(strings.Join(v.Notes, ";"),
		"CPUCOUNT is not a field") {
		t.Errorf("a name in capital letters: %+v, %v", v, err)
	}
}

// TestD15AFaultyDocumentStopsNothingElse loads a registry with documents that cannot be used. Their jobs must be shown
// as faulty and can be deregistered, an app can be registered over such a document, and good jobs must fire.
func TestD15AFaultyDocumentStopsNothingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.stored[store.PathJobs+"/broken"] = []byte("{not json")
	s.stored[store.PathJobs+"/no_shards"] = []byte(`{"jobName":"no_shards","appName":"my_app","jobExecutionType":"TRANSIENT","shardingTotalCount":0,"cpuCount":1,"memoryMB":1}`)
	s.stored[store.PathApps+"/bad_app"] = []byte("[]")
	s.restart()
	if n := len(s.core.views.Jobs()); n != 1 {
		t.Fatalf("%d jobs are listed, want only the good one", n)
	}
	for _, name := range []string{"broken", "no_shards"} {
		x, err := s.core.views.Explain(name)
		if err != nil || x.State != "FAULTY" || len(x.Notes) == 0 {
			t.Fatalf("explain %s: %+v, %v", name, x, err)
		}
		s.apply(s.core.planDeregisterJob(name))
		if _, err := s.core.views.Explain(name); err == nil {
			t.Fatalf("%s still exists after its deregistration", name)
		}
	}
	s.app(func(a *app.Config) { a.AppName = "bad_app" })
	if _, err := s.core.views.App("bad_app"); err != nil {
		t.Fatalf("registering does not replace a document that can't be used: %v", err)
	}
	s.runFor(6 * time.Second)
	if s.core.executions.NumOpen() == 0 {
		t.Fatal("the good job made no fire")
	}
}

// loadUnreadable returns a core that has loaded the stored entries, except that the entries at the given paths cannot
// be read.
func (s *stage) loadUnreadable(paths ...string) (*Core, error) {
	var entries []registry.Entry
	for _, path := range slices.Concat(step.SortedKeys(s.stored), paths) {
		e := registry.Entry{Path: path, Value: s.stored[path]}
		if slices.Contains(paths, path) {
			if slices.ContainsFunc(entries, func(e registry.Entry) bool { return e.Path == path }) {
				continue
			}
			e = registry.Entry{Path: path, Version: 7, Unreadable: accessDenied}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b registry.Entry) int { return strings.Compare(a.Path, b.Path) })
	core := New(s.opt)
	return core, core.Load(s.now, Stored{Entries: entries})
}

// TestD15DocumentsOfTheOriginalAreReadLeniently checks that documents which the original accepted are used. The views
// of the app or job, and explain, must have a note for each setting that is read differently.
func TestD15DocumentsOfTheOriginalAreReadLeniently(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.edit("/config/app/my_app", "appName: my_app\nappURL: http://host/a.tgz\nbootstrapScript: cd app && ./start.sh\n",
		0)
	if v, err := s.core.views.App("my_app"); err != nil ||
		!strings.Contains(strings.Join(v.Notes, ";"), "run by a shell") {
		t.Errorf("the app is shown as %+v, %v", v, err)
	}
	const job = "appName: my_app\ncpuCount: 0.1\ncron: 0/5 * * * * ?\njobExecutionType: TRANSIENT\njobName: my_job\n" +
		"memoryMB: 64.0\nshardingTotalCount: 2\n"
	for more, note := range map[string]string{
		"shardingItemParameters: 0=a=b,1=b,2=c,\n":                                "values that contain a '='",
		"jobErrorHandlerType: EMAIL\nprops:\n  email.host: h\n":                   "jobErrorHandlerType EMAIL has no effect",
		"timeZone: GMT+08:00\n":                                                   "is read as Etc/GMT-8",
		"jobErrorHandlerType: com.example.Handler\n":                              "is not known here",
		"props:\n  script.command.line: bin/run.sh a;b\n  script.encoding: gbk\n": "props.script.encoding is not known",
		"monitorPort: 9000\n":                                                     "monitorPort is ignored",
	} {
		s := newStage(t)
		s.app()
		s.edit("/config/job/my_job", job+more, 0)
		v, err := s.core.views.Job("my_job")
		if err != nil || !strings.Contains(strings.Join(v.Notes, ";"), note) {
			t.Errorf("with %s the job is shown as %+v, %v", more, v, err)
		}
		if x := s.explain("my_job"); x.State == "FAULTY" || len(x.NextFires) == 0 ||
			!strings.Contains(strings.Join(x.Notes, ";"), note) {
			t.Errorf("with %s explain shows %s, %q", more, x.State, x.Notes)
		}
	}
}
