package commandline

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/elasticjob-go/elasticjob/internal/cgroup"
)

// DefaultMemory returns three quarters of the machine's memory, in whole MB, but at least 32. If the control groups of
// this process allow less memory than the machine has, it returns three quarters of that. It returns 2048 if neither is
// known.
func DefaultMemory() float64 {
	text, _ := os.ReadFile("/proc/meminfo")
	return defaultMemory(string(text), cgroup.LimitsOf(os.DirFS("/")))
}

func defaultMemory(meminfo string, limits cgroup.Limits) float64 {
	const fallback, smallest = 2048, 32
	var kb float64
	if _, err := fmt.Sscanf(meminfo, "MemTotal: %f kB", &kb); err != nil || kb < 0 {
		kb = 0
	}
	if limit := float64(limits.MemoryBytes) / 1024; limit > 0 && (kb == 0 || limit < kb) {
		kb = limit
	}
	if kb == 0 {
		return fallback
	}
	return max(smallest, float64(int(kb/1024*3/4)))
}

// DefaultCPUs returns the number of CPUs of the machine. If the control groups of this process allow less, it returns
// that number, rounded down to hundredths, but at least 0.01.
func DefaultCPUs() float64 { return defaultCPUs(runtime.NumCPU(), cgroup.LimitsOf(os.DirFS("/"))) }

func defaultCPUs(number int, limits cgroup.Limits) float64 {
	if limits.CPUs > 0 && limits.CPUs < float64(number) {
		return max(0.01, float64(int(limits.CPUs*100))/100)
	}
	return float64(number)
}

// CheckMachine adds errors if the CPUs or the memory of an agent are NaN, too small, or so large that they would not
// be exact in thousandths. prefix is the beginning of the names of both flags.
func (e *Errors) CheckMachine(prefix string, cpus, memory float64) {
	format := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	e.Unless(cpus >= 0.01 && cpus <= 1_000_000, "%scpus %s: must be 0.01 to 1,000,000", prefix, format(cpus))
	e.Unless(memory >= 32 && memory <= 1_000_000_000, "%smemory %s: must be 32 to 1,000,000,000 (MB)", prefix,
		format(memory))
}
