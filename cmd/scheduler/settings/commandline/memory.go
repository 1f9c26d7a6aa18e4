package commandline

import (
	"fmt"
	"os"
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
