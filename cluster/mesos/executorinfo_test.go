package mesos_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mesosapi "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Keys of reservations in the form that offers yield.
const (
	staticKey  = `{"role":"batch"}`
	dynamicKey = `{"role":"batch","dynamic":true,"principal":"ops","labels":[{"key":"k","value":"one"}]}`
)

// Rule X4: the bytes of an ExecutorInfo must be the same in every release for as long as executors of its version may
// run.
func TestExecutorInfoIsFrozen(t *testing.T) {
	t.Parallel()
	second := testExecutor
	second.Version, second.User, second.ShutdownGrace = 2, "batch", 9500*time.Millisecond
	second.Environment = map[string]string{"LIBPROCESS_SSL_ENABLED": "true",
		"ELASTICJOB_AGENT_HOSTNAME": "agent.example", "ELASTICJOB_MESOS_CA": "-----BEGIN CERTIFICATE-----\n"}
	bare := testExecutor
	bare.Version = 2
	third := second
	third.Version, third.Reserved = 3, []cluster.Reserved{
		{Key: staticKey, Resources: resources.Amount{CPUMilli: 20}},
		{Key: dynamicKey, Resources: resources.Amount{CPUMilli: 30, MemMilli: 8_000}},
	}
	unreserved := second
	unreserved.Version = 3
	earlier := third
	earlier.Version = 2
	before := second // as this release reads it from a record of the former one
	before.Version = 1
	for name, c := range map[string]struct {
		executor cluster.Executor
		golden   string
	}{
		"version 1":            {testExecutor, "executorinfo-v1.hex"},
		"version 1, with more": {before, "executorinfo-v1.hex"},
		"version 2":            {second, "executorinfo-v2.hex"},
		"version 2, with less": {bare, "executorinfo-v1.hex"},
		"version 2, with more": {earlier, "executorinfo-v2.hex"},
		"version 3":            {third, "executorinfo-v3.hex"},
		"version 3, with less": {unreserved, "executorinfo-v2.hex"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkFrozen(t, c.executor, filepath.Join("testdata", c.golden))
		})
	}
}

func checkFrozen(t *testing.T, executor cluster.Executor, golden string) {
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	launch := func(id string) cluster.TaskLaunch {
		task := launch(id)
		task.Executor = executor
		return task
	}
	for range 2 {
		if err := s.Launch(t.Context(), cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"},
			Tasks: []cluster.TaskLaunch{launch("t1"), launch("t2")}}); err != nil {
			t.Fatal(err)
		}
	}
	calls := m.requests(scheduler.Call_ACCEPT)
	if *update {
		info, err := calls[0].call.Accept.Operations[0].Launch.TaskInfos[0].Executor.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(hex.EncodeToString(info)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		if n := bytes.Count(c.raw, want); n != 2 {
			t.Errorf("call %d has the golden bytes %d times, want 2", i, n)
		}
	}
}

// The fields that version 2 adds have the intended values.
func TestExecutorInfoOfVersion2(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	task, other := launch("t1"), launch("t2")
	task.Executor.Version, task.Executor.User, task.Executor.ShutdownGrace = 2, "batch", 9500*time.Millisecond
	task.Executor.Environment = map[string]string{"B": "2", "A": "1"}
	other.Executor = task.Executor
	other.Executor.Environment = map[string]string{"B": "2", "A": "other"} // a different executor
	if err := s.Launch(t.Context(), cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"},
		Tasks: []cluster.TaskLaunch{task, other}}); err != nil {
		t.Fatal(err)
	}
	sent := m.requests(scheduler.Call_ACCEPT)[0].call.Accept.Operations[0].Launch.TaskInfos
	info := sent[0].Executor
	want := []mesosapi.Environment_Variable{{Name: "A", Value: ptr("1")}, {Name: "B", Value: ptr("2")}}
	if diff := cmp.Diff(want, info.Command.Environment.Variables); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if info.Command.GetUser() != "batch" || info.ShutdownGracePeriod.Nanoseconds != 9_500_000_000 {
		t.Errorf("user %q, grace %v", info.Command.GetUser(), info.ShutdownGracePeriod)
	}
	if got := sent[1].Executor.Command.Environment.Variables[0].GetValue(); got != "other" {
		t.Errorf("the second executor has A=%s", got)
	}
}
