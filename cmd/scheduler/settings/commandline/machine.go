package commandline

import (
	"fmt"
	"os"
	"strconv"
)

// DefaultMemory is three quarters of the machine's memory, in whole MB.
func DefaultMemory() float64 {
	const fallback = 2048
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fallback
	}
	var kb float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kb); err != nil || kb <= 0 {
		return fallback
	}
	return float64(int(kb / 1024 * 3 / 4))
}

// CheckMachine refuses less than a machine or an agent can use, and more than any has, which would not be exact in
// thousandths. NaN is in no range. Prefix is what the names of the flags begin with.
func (e *Errors) CheckMachine(prefix string, cpus, memory float64) {
	plain := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	e.Unless(cpus >= 0.01 && cpus <= 1_000_000, "%scpus %s: want 0.01 to 1,000,000", prefix, plain(cpus))
	e.Unless(memory >= 32 && memory <= 1_000_000_000, "%smemory %s: want 32 to 1,000,000,000 (MB)", prefix,
		plain(memory))
}
