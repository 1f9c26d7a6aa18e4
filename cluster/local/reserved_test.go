package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
)

func TestParseReserved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want []agent.Reservation // nil: refused
	}{
		{"", []agent.Reservation{}},
		{"cpus(batch):2;mem(batch):1024", []agent.Reservation{{Role: "batch", CPUs: 2, MemMB: 1024}}},
		{" mem(b/c):0.5 ; cpus(a):0.001; cpus(a):1;", []agent.Reservation{{Role: "a", CPUs: 1.001}, {Role: "b/c", MemMB: 0.5}}},
		{"cpus(*):2", nil}, {"cpus:2", nil}, {"cpus():2", nil}, {"disk(batch):2", nil}, {"cpus(batch):0", nil}, {"cpus(batch):-1", nil},
		{"cpus(batch):1e3", nil}, {"cpus(batch):0.0001", nil}, {"cpus(batch):2,mem(batch):1", nil}, {"cpus(batch):99999999999", nil},
	} {
		got, err := ParseReserved(test.text)
		if (err != nil) != (test.want == nil) {
			t.Errorf("%q: %v", test.text, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}
