package tasks

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// memoryText says how much memory a process has used, if that is far more than its job's memoryMB: the executor does
// not enforce this setting. It returns "" otherwise, and if memoryMB is 0.
func memoryText(bytes int64, memoryMB float64) string {
	const mb, tolerance = 1 << 20, 64 << 20 // any program may exceed memoryMB by the tolerance
	if share := int64(memoryMB * mb); share == 0 || bytes < 2*share || bytes < share+tolerance {
		return ""
	}
	return fmt.Sprintf("it used up to %d MB of memory, and its job has memoryMB %s, which is not enforced here: if the container or the machine runs out of memory, the kernel kills its largest process", bytes/mb,
		strconv.FormatFloat(memoryMB, 'f', -1, 64))
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory returns the most memory, in bytes, that a process has used so far; 0 if that can't be read.
func peakMemory(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if m := peakLine.FindSubmatch(text); m != nil {
		kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return kb << 10
	}
	return 0
}
