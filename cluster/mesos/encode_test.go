package mesos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func BenchmarkEncodeAccept100(b *testing.B) { benchmarkEncode(b, nil) }

// Each task has parts of two reservations.
func BenchmarkEncodeAcceptReserved100(b *testing.B) {
	benchmarkEncode(b, []cluster.Reserved{
		{Key: `{"role":"batch","dynamic":true,"principal":"ops","labels":[{"key":"k","value":"one"}]}`, Resources: resources.Amount{CPUMilli: 10}},
		{Key: `{"role":"batch"}`, Resources: resources.Amount{CPUMilli: 20, MemMilli: 1_000}},
	})
}

func benchmarkEncode(b *testing.B, reserved []cluster.Reserved) {
	b.Helper()
	accept := cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"}}
	for i := range 100 {
		accept.Tasks = append(accept.Tasks, cluster.TaskLaunch{
			TaskID: fmt.Sprintf("my_job@-@%d@-@READY@-@S0@-@6b1e9a5c-2f3f-4d8e-9a59-0f5f3a3b7c11", i),
			Name:   "my_job", Reserved: reserved, Resources: resources.Amount{CPUMilli: 100, MemMilli: 64_000},
			Task: wire.Task{JobName: "my_job", JobParameter: strings.Repeat("x", 200)},
			Executor: cluster.Executor{
				Version: executorVersion, ID: "my_app@-@S0@-@1", Framework: "elasticjob-1", Name: "my_app",
				Command: []string{"./executor"}, BinaryURI: "http://127.0.0.1:8899/artifacts/executor-linux-amd64-abc",
			},
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		call, err := acceptCall(accept)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := call.Marshal(); err != nil {
			b.Fatal(err)
		}
	}
}
