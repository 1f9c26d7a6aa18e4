package tasks

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// memoryText says how much memory a process has used if that is far more than its share, which nobody limits where
// several tasks share a container; empty otherwise.
func memoryText(bytes int64, memoryMB float64) string {
	const mb, spare = 1 << 20, 64 << 20 // what any program may need
	if share := int64(memoryMB * mb); share == 0 || bytes < 2*share || bytes < share+spare {
		return ""
	}
	return fmt.Sprintf("it used up to %d MB of memory, and its job has memoryMB %s", bytes/mb,
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

// checkMemory tells once that a resident process uses far more memory than its share. The end of any other process
// tells it.
func (r *processRunner) checkMemory(p *process) {
	if text := memoryText(peakMemory(p.PID), p.memoryMB); text != "" && !p.overMemory {
		p.overMemory = true
		r.log.Warn("the resident process uses much memory", "detail", text)
		r.host.reports.message(r.id, text)
	}
}
