package commandline

import (
	"fmt"
	"os"
	"strconv"
)

// DefaultMemory returns three quarters of the machine's memory in whole MB, or 2048 if the size is unknown.
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

// CheckMachine reports CPUs and memory that are too small for an agent or NaN, or so large that they would not be
// exact in thousandths. prefix is the start of the names of the flags.
func (e *Errors) CheckMachine(prefix string, cpus, memory float64) {
	plain := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	e.Unless(cpus >= 0.01 && cpus <= 1_000_000, "%scpus %s: must be 0.01 to 1,000,000", prefix, plain(cpus))
	e.Unless(memory >= 32 && memory <= 1_000_000_000, "%smemory %s: must be 32 to 1,000,000,000 (MB)", prefix,
		plain(memory))
}
