package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTaskRoundTrip(t *testing.T) {
	t.Parallel()
	want := wire.Task{
		Version: 1, TaskID: "my_job@-@2@-@READY@-@S0@-@u", ExecutionID: "e", JobName: "my_job", Item: 2, Total: 3,
		JobParameter: "a", ShardingParameter: "b", Source: "TRIGGER", FireTime: time.Date(2026, 7, 1, 12, 0, 0, 5e6, time.UTC), Attempt: 1,
		Package: wire.Package{URL: "http://h/x", Cache: true},
		Command: []string{"sh", "-c", "a | b", ""}, Env: map[string]string{"X": "1"}, KillGraceMillis: 5000,
	}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.DecodeTask(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// An executor that knows no references must not run it without them.
	want.Version, want.EnvFiles = wire.Version, map[string]string{"DB_PASSWORD": "/s/db"}
	if data, err = want.Encode(); err != nil {
		t.Fatal(err)
	}
	got, err = wire.DecodeTask(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" || wire.Version < 2 {
		t.Error(err, diff)
	}
}

func TestStatusRoundTrip(t *testing.T) {
	t.Parallel()
	exit := 3
	want := wire.Status{Version: 1, Dir: "tasks/7", Phase: wire.PhaseRun, ExitStatus: &exit, Cause: "no such file"}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := wire.DecodeStatus(data); !ok || cmp.Diff(want, got) != "" {
		t.Errorf("got %+v, %t", got, ok)
	}
}

// Executors and schedulers of different age understand each other, or say so.
func TestVersions(t *testing.T) {
	t.Parallel()
	if _, err := wire.DecodeTask([]byte(`{"v":1,"taskId":"t","later":{"a":1}}`)); err != nil {
		t.Errorf("a field of a later version: %v", err)
	}
	for data, want := range map[string]string{`{"v":99}`: "update the executor", `{}`: "version 0", `x`: "read task description"} {
		if _, err := wire.DecodeTask([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", data, err, want)
		}
	}
	for _, data := range []string{"", "x", "{}", `{"v":"1"}`} {
		if got, ok := wire.DecodeStatus([]byte(data)); ok {
			t.Errorf("%q: got %+v", data, got)
		}
	}
}
