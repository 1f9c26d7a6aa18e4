package commandline

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/cgroup"
)

func TestDefaultsOfTheMachine(t *testing.T) {
	t.Parallel()
	const sixteen = "MemTotal:       16777216 kB\nMemFree: 1 kB\n"
	for _, tt := range []struct {
		meminfo      string
		cpus         int
		limits       cgroup.Limits
		memory, want float64
	}{
		{sixteen, 8, cgroup.Limits{}, 12288, 8},
		{sixteen, 8, cgroup.Limits{MemoryBytes: 512 << 20, CPUs: 0.5}, 384, 0.5},
		{sixteen, 8, cgroup.Limits{MemoryBytes: 1 << 50, CPUs: 64}, 12288, 8},
		{sixteen, 8, cgroup.Limits{MemoryBytes: 8 << 20, CPUs: 0.001}, 32, 0.01},
		{"", 2, cgroup.Limits{MemoryBytes: 1 << 30, CPUs: 1.239}, 768, 1.23},
		{"", 2, cgroup.Limits{}, 2048, 2},
	} {
		if memory, cpus := defaultMemory(tt.meminfo, tt.limits), defaultCPUs(tt.cpus, tt.limits); memory != tt.memory ||
			cpus != tt.want {
			t.Errorf("%+v: %v MB, %v CPUs", tt, memory, cpus)
		}
	}
}
