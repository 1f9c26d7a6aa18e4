package definitions_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/definitions"
)

type options struct {
	definitions.PlanOptions
	kill bool
}

// apply applies the definitions in a text to the server. It returns the text of Show and the reports.
func apply(t *testing.T, server *fakeServer, text string, o options) (shown string, reports []string) {
	t.Helper()
	plan := planOf(t, server, text, o.PlanOptions)
	if err := plan.Check(context.Background(), server); err != nil {
		t.Fatalf("%v", err)
	}
	var out strings.Builder
	if err := plan.Show(&out); err != nil {
		t.Fatal(err)
	}
	failed, err := plan.Apply(context.Background(), server,
		definitions.ApplyOptions{Kill: o.kill, Report: func(r definitions.Result) {
			reports = append(reports, r.String())
		}})
	if err != nil {
		t.Fatal(err)
	}
	if failed != count(reports, "failed") {
		t.Errorf("%d failed, and the reports are %q", failed, reports)
	}
	return out.String(), reports
}

// count returns the number of lines with a prefix.
func count(lines []string, prefix string) (n int) {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// fetch returns the state of the server.
func fetch(t *testing.T, server *fakeServer) *definitions.State {
	t.Helper()
	state, err := definitions.Fetch(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// planOf returns the plan for the definitions in a text.
func planOf(t *testing.T, server *fakeServer, text string, o definitions.PlanOptions) *definitions.Plan {
	t.Helper()
	plan, err := definitions.NewPlan(read(t, text), fetch(t, server), o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestApplyCreatesThenChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	server := newServer()
	shown, reports := apply(t, server, billing, options{})
	for _, want := range []string{"+ app billing  (billing.yaml:1)", "+ job nightly  (billing.yaml:7)",
		`    cron: "0 0 3 * * ?"`, `    env.DB_PASSWORD: {"fromFile":"/etc/elasticjob/secrets/db"}`,
		"2 to create, 0 to change, 0 to remove, 0 unchanged."} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if want := []string{"created app billing", "created job nightly"}; !slices.Equal(reports, want) {
		t.Errorf("reports %q, want %q", reports, want)
	}
	server.changes()

	if shown, reports = apply(t, server, billing, options{}); shown != "Nothing differs: 2 unchanged.\n" ||
		len(reports)+len(server.changes()) > 0 {
		t.Errorf("the second time: %s %q", shown, reports)
	}

	changed := strings.NewReplacer("0 0 3", "0 30 3", "LEVEL: debug", "LEVEL: info", "memoryMB: 256",
		"memoryMB: 256\nmisfire: true").Replace(billing)
	shown, reports = apply(t, server, changed, options{})
	want := `~ job nightly  (billing.yaml:7)
    cron: "0 0 3 * * ?" -> "0 30 3 * * ?"
    misfire: false -> true
    env.LEVEL: "debug" -> "info"
0 to create, 1 to change, 0 to remove, 1 unchanged.
`
	if shown != want {
		t.Errorf("shown\n%s\nwant\n%s", shown, want)
	}
	if want := []string{"changed job nightly: cron, misfire, env"}; !slices.Equal(reports, want) {
		t.Errorf("reports %q, want %q", reports, want)
	}
	sent := `PUT /job/update {"cron":"0 30 3 * * ?","env":{"DB_PASSWORD":{"fromFile":"/etc/elasticjob/secrets/db"},"LEVEL":"info"},"jobName":"nightly","misfire":true}`
	if made := server.changes(); !slices.Equal(made, []string{sent}) {
		t.Errorf("sent %q", made)
	}
}

func TestAFieldTakenOutOfTheFileGetsItsDefault(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, billing+"misfire: true\ntimeoutSeconds: 60\n", options{})
	withoutEnv := billing[:strings.Index(billing, "env:")]
	apply(t, server, withoutEnv, options{})
	if job := server.jobs["nightly"]; job.Misfire || job.TimeoutSeconds != 0 || len(job.Env) != 0 {
		t.Errorf("%+v", job)
	}
}

func TestAnExportDiffersInNothing(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, billingWithSecrets+"---\nkind: App\nappName: off\nappURL: https://example.com/x?token=abcdef\nbootstrapScript: run\ndisabled: true\n"+
		"---\n"+strings.Replace(billing[strings.Index(billing, "kind: Job"):], "nightly", "stopped",
		1)+"disabled: true\n", options{})
	exported, err := definitions.Encode(fetch(t, server).All)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"API_TOKEN: '******'", "disabled: true", "token=******"} {
		if !strings.Contains(string(exported), want) && !strings.Contains(string(exported),
			strings.ReplaceAll(want, "'", `"`)) {
			t.Errorf("%q is not in\n%s", want, exported)
		}
	}
	server.changes()
	shown, _ := apply(t, server, string(exported),
		options{PlanOptions: definitions.PlanOptions{Prune: true, SendSecrets: true}})
	if shown != "Nothing differs: 4 unchanged.\n" || len(server.changes()) > 0 {
		t.Errorf("%s\nof\n%s", shown, exported)
	}

	// Another server has no secrets that ****** stands for.
	set := read(t, string(exported))
	_, err = definitions.NewPlan(set, fetch(t, newServer()), definitions.PlanOptions{})
	for _, field := range []string{"job nightly: env.API_TOKEN: holds ******", "job nightly: env.USER: holds ******",
		"app off: appURL: holds ******"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%q is not in %v", field, err)
		}
	}
}

func TestPruneRemovesJobsOfDefinedAppsOnly(t *testing.T) {
	t.Parallel()
	server := newServer()
	second := strings.NewReplacer("billing", "other", "nightly", "weekly").Replace(billing)
	apply(t, server, billing+"---\n"+second, options{})
	onlyApps := billing[:strings.Index(billing, "---")]
	prune := options{PlanOptions: definitions.PlanOptions{Prune: true}}

	if shown, _ := apply(t, server, onlyApps, options{}); !strings.HasPrefix(shown, "Nothing differs") {
		t.Errorf("without --prune: %s", shown)
	}
	server.running["nightly"] = 2
	_, reports := apply(t, server, onlyApps, prune)
	if len(reports) != 1 || !strings.HasPrefix(reports[0],
		"failed to remove job nightly: 2 of its shards run or wait") || len(server.jobs) != 2 {
		t.Errorf("while it runs: %q", reports)
	}
	prune.kill = true
	_, reports = apply(t, server, onlyApps, prune)
	if !slices.Equal(reports, []string{"removed job nightly"}) || len(server.jobs) != 1 || len(server.apps) != 2 {
		t.Errorf("reports %q, left %v", reports, server.jobs)
	}
	_, reports = apply(t, server, onlyApps,
		options{PlanOptions: definitions.PlanOptions{PruneApps: []string{"other"}}})
	if !slices.Equal(reports, []string{"removed job weekly", "removed app other"}) {
		t.Errorf("reports %q", reports)
	}
}

func TestDisabledChangesOnlyIfTheFileSetsIt(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, billing, options{})
	server.changes()
	apply(t, server, billing+"disabled: true\n", options{})
	if made := server.changes(); !slices.Equal(made, []string{"POST /job/nightly/shutdown"}) {
		t.Errorf("disabling made %q, want a shutdown, so that running shards can finish", made)
	}
	if shown, _ := apply(t, server, billing, options{}); !strings.HasPrefix(shown, "Nothing differs") {
		t.Errorf("a file without disabled: %s", shown)
	}
	shown, _ := apply(t, server, billing+"disabled: false\n", options{})
	if made := server.changes(); !slices.Equal(made, []string{"POST /job/nightly/enable"}) ||
		!strings.Contains(shown, "disabled: true -> false") {
		t.Errorf("enabling made %q\n%s", made, shown)
	}
	server.running["nightly"] = 1
	off := strings.Replace(billing, "appName: billing\n", "appName: billing\ndisabled: true\n", 1)
	if _, reports := apply(t, server, off, options{}); len(reports) != 1 ||
		!strings.Contains(reports[0], "run or wait") {
		t.Errorf("an app whose job runs: %q", reports)
	}
	if _, reports := apply(t, server, off, options{kill: true}); !slices.Equal(reports,
		[]string{"changed app billing: disabled"}) {
		t.Errorf("an app whose job may be killed: %q", reports)
	}
}

func TestNoRunIsLostWithoutKill(t *testing.T) {
	t.Parallel()
	onlyApp := billing[:strings.Index(billing, "---")]
	daemon := strings.Replace(billing, "TRANSIENT", "DAEMON", 1)
	prune := definitions.PlanOptions{Prune: true}
	for name, test := range map[string]struct {
		before, after string
		between       func(*fakeServer) // what happens before after is applied
		fails         string            // the message of the failure; "" for none
		sent          []string
	}{
		"disabled while a run waits": {billing, billing + "disabled: true\n", func(s *fakeServer) { s.waiting["nightly"] = 2 }, "2 of its shards wait to run", nil},
		"a daemon disabled while it waits": {daemon, daemon + "disabled: true\n",
			func(s *fakeServer) { s.waiting["nightly"] = 2 }, "",
			[]string{"POST /job/nightly/shutdown"}},
		"removed": {billing, onlyApp, func(*fakeServer) {}, "", []string{"POST /job/nightly/shutdown", "DELETE /job/nightly/deregister"}},
		"removed while a run begins": {billing, onlyApp, func(s *fakeServer) { s.began["nightly"] = true },
			"a run of it has just begun",
			[]string{"POST /job/nightly/shutdown"}},
		"a daemon removed": {daemon, onlyApp, func(s *fakeServer) { s.running["nightly"] = 1 }, "would be killed: give --kill if that is meant", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer()
			apply(t, server, test.before, options{})
			server.changes()
			test.between(server)
			_, reports := apply(t, server, test.after, options{PlanOptions: prune})
			if failed := strings.HasPrefix(reports[0], "failed"); len(reports) != 1 || failed != (test.fails != "") ||
				!strings.Contains(reports[0], test.fails) {
				t.Errorf("reports %q", reports)
			}
			if sent := server.changes(); !slices.Equal(sent, test.sent) {
				t.Errorf("sent %q, want %q", sent, test.sent)
			}
		})
	}
}

func TestAnEnabledJobDoesNotFireWithOldSettings(t *testing.T) {
	t.Parallel()
	server := newServer()
	off := strings.Replace(billing, "appName: billing\n", "appName: billing\ndisabled: true\n", 1)
	on := strings.NewReplacer("disabled: true", "disabled: false", "0 0 3", "0 30 3").Replace(off)
	apply(t, server, off, options{})
	server.changes()

	server.refuse["PUT /job/update"] = "no room"
	_, reports := apply(t, server, on, options{})
	if want := []string{"failed to change job nightly: no room",
		"failed to change app billing: not enabled, because a job of it failed and would fire with its old settings"}; !slices.Equal(reports, want) {
		t.Errorf("reports %q", reports)
	}
	delete(server.refuse, "PUT /job/update")
	update := `PUT /job/update {"cron":"0 30 3 * * ?","jobName":"nightly"}`
	apply(t, server, on, options{})
	if sent := server.changes(); !slices.Equal(sent, []string{update, "POST /app/billing/enable"}) {
		t.Errorf("an app that becomes enabled: sent %q", sent)
	}
	apply(t, server, billing+"disabled: true\n", options{})
	if sent := server.changes(); len(sent) != 2 || sent[0] != "POST /job/nightly/shutdown" {
		t.Errorf("a job that becomes disabled: sent %q", sent)
	}
}

func TestAJobThatNoPageListsIsRequested(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, billing+"disabled: true\n", options{})
	server.unlisted["nightly"] = true
	if shown, _ := apply(t, server, billing+"disabled: true\n", options{}); !strings.HasPrefix(shown,
		"Nothing differs") {
		t.Errorf("shown\n%s", shown)
	}
}

func TestUnknownAppsToRemoveAreNoted(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, billing, options{})
	plan := planOf(t, server, billing, definitions.PlanOptions{PruneApps: []string{"biling", "billing"}})
	want := []string{"--prune-app biling: the server has no such app; did you mean billing?"}
	if !slices.Equal(plan.Notes, want) {
		t.Errorf("notes %q, want %q", plan.Notes, want)
	}
}

func TestEachItemIsReportedAndTheOthersAreDone(t *testing.T) {
	t.Parallel()
	server := newServer()
	server.refuse["POST /app"] = "no room"
	_, reports := apply(t, server, billing, options{})
	want := []string{"failed to create app billing: no room",
		"failed to create job nightly: not tried, because its app failed"}
	if !slices.Equal(reports, want) {
		t.Errorf("reports %q", reports)
	}
	delete(server.refuse, "POST /app")
	server.refuse["POST /job/register"] = "no room"
	_, reports = apply(t, server, billing, options{})
	if want := []string{"created app billing", "failed to create job nightly: no room"}; !slices.Equal(reports, want) {
		t.Errorf("reports %q", reports)
	}
}

func TestRefusalsAreReportedBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	server := newServer()
	apply(t, server, billing, options{})
	server.changes()
	plan := planOf(t, server, billing+"---\n"+strings.Replace(billing[strings.Index(billing, "kind: Job"):], "nightly",
		"trigger", 1), definitions.PlanOptions{})
	err := plan.Check(context.Background(), server)
	if err == nil || !strings.Contains(err.Error(), "billing.yaml:21: job trigger: jobName: is reserved") ||
		len(server.changes()) > 0 {
		t.Errorf("%v", err)
	}

	_, err = definitions.NewPlan(read(t,
		strings.ReplaceAll(billing[strings.Index(billing, "kind: Job"):], "billing", "bling")), fetch(t,
		server), definitions.PlanOptions{})
	if err == nil || !strings.Contains(err.Error(), "billing.yaml:3: job nightly: appName: there is no such app") {
		t.Errorf("%v", err)
	}
}

func TestAStoppedApplyEndsBetweenTwoItems(t *testing.T) {
	t.Parallel()
	server := newServer()
	ctx, stop := context.WithCancel(context.Background())
	plan := planOf(t, server, billing, definitions.PlanOptions{})
	failed, err := plan.Apply(ctx, server, definitions.ApplyOptions{Report: func(definitions.Result) { stop() }})
	if failed != 0 || err == nil || !strings.Contains(err.Error(), "stopped before job nightly") ||
		len(server.apps) != 1 || len(server.jobs) != 0 {
		t.Errorf("%d failed, %v", failed, err)
	}
}
