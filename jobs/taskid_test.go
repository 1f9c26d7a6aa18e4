package jobs_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/jobs"
)

const uuid = "0f8e2f3a-5a5b-4a4e-9e0c-1d2e3f405162"

// agents generates agent ids, some of which contain delimiters.
func agents() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[ -.0-\[\]-~]{1,95}`),
		rapid.StringMatching(`(@|-|@-@|S0|unassigned-slave){1,5}`),
	)
}

// TestTaskIDRoundTrip checks that an id can be parsed whatever the names of agents and jobs are [D28].
func TestTaskIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := jobs.TaskID{
			Job:   rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,99}`).Draw(t, "job"),
			Item:  rapid.IntRange(0, jobs.MaxShards-1).Draw(t, "item"),
			Type:  rapid.SampledFrom([]string{jobs.TaskReady, jobs.TaskFailover}).Draw(t, "type"),
			Agent: agents().Draw(t, "agent"),
			UUID:  uuid,
		}
		got, err := jobs.ParseTaskID(want.String())
		if err != nil || got != want || got.String() != want.String() {
			t.Fatalf("%q: got %+v, %v", want, got, err)
		}
	})
}

func TestExecutorIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := jobs.ExecutorID{
			App:   rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,99}`).Draw(t, "app"),
			Agent: agents().Draw(t, "agent"),
			N:     rapid.Int64Min(0).Draw(t, "n"),
		}
		got, err := jobs.ParseExecutorID(want.String())
		if err != nil || got != want {
			t.Fatalf("%q: got %+v, %v", want, got, err)
		}
	})
}

func TestIDForms(t *testing.T) {
	t.Parallel()
	task := jobs.TaskID{Job: "my_job", Item: 2, Type: jobs.TaskReady, Agent: "S0", UUID: uuid}
	if want := "my_job@-@2@-@READY@-@S0@-@" + uuid; task.String() != want {
		t.Errorf("got %s, want %s", task, want)
	}
	if want := "my_job@-@2@-@READY@-@S0"; task.Name() != want {
		t.Errorf("got %s, want %s", task.Name(), want)
	}
	executor := jobs.ExecutorID{App: "my_app", Agent: "S0", N: 7}
	if want := "my_app@-@S0@-@7"; executor.String() != want {
		t.Errorf("got %s, want %s", executor, want)
	}
}

// TestIDLength checks that the longest names and the longest agent id form an id that Mesos accepts.
func TestIDLength(t *testing.T) {
	t.Parallel()
	name, agent := strings.Repeat("j", 100), strings.Repeat("a", jobs.MaxAgentIDBytes)
	task := jobs.TaskID{Job: name, Item: jobs.MaxShards - 1, Type: jobs.TaskFailover, Agent: agent, UUID: uuid}
	if _, err := jobs.ParseTaskID(task.String()); err != nil || len(task.String()) != 255 {
		t.Errorf("%d bytes: %v", len(task.String()), err)
	}
	if _, err := jobs.ParseExecutorID(jobs.ExecutorID{App: name, Agent: agent, N: 1<<63 - 1}.String()); err != nil {
		t.Error(err)
	}
	task.Agent += "a"
	if got, err := jobs.ParseTaskID(task.String()); err == nil {
		t.Errorf("of %d bytes: %+v", len(task.String()), got)
	}
}

// TestParseUnknownIDs checks that ids that this scheduler did not make result in an error [D28].
func TestParseUnknownIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", "x", "@-@", "@-@@-@@-@@-@", "my_job@-@2", "my_job@-@2@-@READY@-@S0",
		"my job@-@2@-@READY@-@S0@-@" + uuid,
		"my_job@-@-2@-@READY@-@S0@-@" + uuid,
		"my_job@-@02@-@READY@-@S0@-@" + uuid,
		"my_job@-@99999999999999999999@-@READY@-@S0@-@" + uuid,
		"my_job@-@0,1@-@READY@-@S0@-@" + uuid,
		"my_job@-@2@-@ready@-@S0@-@" + uuid,
		"my_job@-@2@-@READY@-@@-@" + uuid,
		"my_job@-@2@-@READY@-@a/b@-@" + uuid,
		"my_job@-@2@-@READY@-@a\\b@-@" + uuid,
		"my_job@-@2@-@READY@-@a\n@-@" + uuid,
		"my_job@-@2@-@READY@-@S0@-@",
		"my_job@-@2@-@READY@-@S0@-@x@y",
	} {
		if got, err := jobs.ParseTaskID(id); err == nil {
			t.Errorf("task id %q: got %+v", id, got)
		}
	}
	for _, id := range []string{"", "my_app", "my_app@-@S0", "my_app@-@S0@-@", "my_app@-@S0@-@+1", "my_app@-@S0@-@-1",
		"@-@S0@-@1", "my_app@-@@-@1", "a b@-@S0@-@1"} {
		if got, err := jobs.ParseExecutorID(id); err == nil {
			t.Errorf("executor id %q: got %+v", id, got)
		}
	}
}
