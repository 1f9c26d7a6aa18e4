package tasks

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// memoryText says how much memory a process has used if that is far more than its share, and what limits it: where
// several tasks share a container, the executor does not. It is empty otherwise.
func memoryText(bytes int64, memoryMB float64) string {
	const mb, spare = 1 << 20, 64 << 20 // what any program may need
	if share := int64(memoryMB * mb); share == 0 || bytes < 2*share || bytes < share+spare {
		return ""
	}
	return fmt.Sprintf("it used up to %d MB of memory, and its job has memoryMB %s, which is not enforced here: if the container or the machine runs out of memory, the kernel kills its largest process", bytes/mb,
		strconv.FormatFloat(memoryMB, 'f', -1, 64))
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory returns how many bytes of memory a process has used at most; 0 if that can't be read.
func peakMemory(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if m := peakLine.FindSubmatch(text); m != nil {
		kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return kb << 10
	}
	return 0
}
