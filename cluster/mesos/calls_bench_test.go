package mesos_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
)

func BenchmarkAccept100(b *testing.B) {
	s, closeAll := benchSession(b)
	defer closeAll()
	accept := cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"}}
	for i := range 100 {
		task := launch(fmt.Sprintf("my_job@-@%d@-@READY@-@S0@-@6b1e9a5c-2f3f-4d8e-9a59-0f5f3a3b7c11", i))
		task.Task.JobParameter = strings.Repeat("x", 200)
		accept.Tasks = append(accept.Tasks, task)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Launch(context.Background(), accept); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKill(b *testing.B) {
	s, closeAll := benchSession(b)
	defer closeAll()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Kill(context.Background(),
				cluster.Kill{TaskID: "my_job@-@0@-@READY@-@S0", AgentID: "S0"}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
