package jobs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

func text(s string) *string { return &s }

func TestDecodeOverrides(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]jobs.Overrides{
		"":                     {},
		" \n":                  {},
		"{}":                   {},
		`{"jobParameter":"p"}`: {JobParameter: text("p")},
		`{"jobParameter":"","shardingItemParameters":"0=a","env":{"A":"1"}}`: {JobParameter: text(""),
			ShardingItemParameters: text("0=a"), Env: document.Texts{"A": {Value: "1"}}},
		`{"jobParameter":null,"shardingItemParameters":null,"env":null}`: {},
	} {
		got, err := jobs.DecodeOverrides([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	for body, fields := range map[string][]string{
		`{"jobparameter":"p","jobParameter":3,"env":{"A":1},"cron":"* * * * * ?"}`: {"jobparameter", "jobParameter",
			"env.A", "cron"},
		`{"jobParameter":"a","jobParameter":"b"}`: {"jobParameter"},
		`{"jobName":"my_job"}`:                    {"jobName"},
	} {
		_, err := jobs.DecodeOverrides([]byte(body))
		var bad document.Violations
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", body, err)
		}
		var got []string
		for _, v := range bad {
			got = append(got, v.Field)
		}
		if diff := cmp.Diff(fields, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	for _, body := range []string{"my_job", `"my_job"`, "[]", "{", `{"jobParameter":"p"} x`, "3", "null"} {
		_, err := jobs.DecodeOverrides([]byte(body))
		var syntax *document.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestOverridesApplyToACopy(t *testing.T) {
	t.Parallel()
	job := jobs.Config{JobName: "j", JobParameter: "p", ShardingItemParameters: "0=a", ShardingTotalCount: 2,
		Env: document.Texts{"A": {Value: "1"}, "B": {Value: "2"}}}
	o := jobs.Overrides{ShardingItemParameters: text("1=z"), Env: document.Texts{"B": {Value: "3"}, "C": {Value: "4"}}}
	want := jobs.Config{JobName: "j", JobParameter: "p", ShardingItemParameters: "1=z", ShardingTotalCount: 2,
		Env: document.Texts{"A": {Value: "1"}, "B": {Value: "3"}, "C": {Value: "4"}}}
	if diff := cmp.Diff(want, o.Apply(job)); diff != "" {
		t.Error(diff)
	}
	if job.Env["B"].Value != "2" || job.ShardingItemParameters != "0=a" {
		t.Errorf("the job's document has changed: %+v", job)
	}
}

// TestOverridesAreChecked checks that all violations are reported at once, except those of fields that a run cannot
// override.
func TestOverridesAreChecked(t *testing.T) {
	t.Parallel()
	job := jobs.Config{JobName: "bad name", Cron: "x", ShardingTotalCount: 2}
	manyShards := jobs.Config{ShardingTotalCount: 200}
	for name, c := range map[string]struct {
		overrides jobs.Overrides
		fields    []string
	}{
		"nothing": {jobs.Overrides{}, nil},
		"good":    {jobs.Overrides{JobParameter: text("p"), ShardingItemParameters: text("0=a,1=b"), Env: document.Texts{"A": {Value: "1"}}}, nil},
		"all": {jobs.Overrides{JobParameter: text("p\x00"), ShardingItemParameters: text("2=a"), Env: document.Texts{"MESOS_X": {Value: "1"}, "2": {Value: ""}}},
			[]string{"shardingItemParameters", "env.2", "env.MESOS_X", "jobParameter"}},
		"NUL":   {jobs.Overrides{JobParameter: text("\x00")}, []string{"jobParameter"}},
		"large": {jobs.Overrides{Env: longEnv(9)}, []string{""}},
	} {
		var got []string
		for _, v := range c.overrides.Check(job) {
			got = append(got, v.Field)
		}
		if diff := cmp.Diff(c.fields, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if bad := (jobs.Overrides{Env: longEnv(7)}).Check(manyShards); len(bad) != 1 ||
		!strings.Contains(bad[0].Message, "200 shards are given 42") {
		t.Errorf("for a job with many shards: %v", bad)
	}
}

// longEnv returns n variables of about 60 KiB each.
func longEnv(n int) document.Texts {
	env := document.Texts{}
	for i := range n {
		env[string(rune('A'+i))] = document.Text{Value: strings.Repeat("x", 60<<10)}
	}
	return env
}
