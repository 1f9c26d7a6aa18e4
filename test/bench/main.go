// Command bench measures the whole system on this machine and prints the results: the time from a fire to the first
// line of a job's script, shards per second, memory, and the cost of many registered jobs. It starts the programs in
// bin/ with a data folder of its own and ends them again.
//
// At the end it prints which results meet their targets. That is not a test, because results depend on the machine
// and its other load. docs/performance.md says what to expect, and where the time goes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the programs")
	only := flag.String("only", "",
		"measure just these, separated by commas: latency, throughput, many, console, scheduler, core")
	seconds := flag.Int("seconds", 60, "how long a measurement lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *only, time.Duration(*seconds)*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type measurement struct {
	name string
	run  func(ctx context.Context, bin string, d time.Duration, r *results) error
}

func run(ctx context.Context, bin, only string, d time.Duration) error {
	describeMachine()
	var r results
	for _, m := range []measurement{{"latency", latency}, {"throughput", throughput}, {"many", many},
		{"console", console}, {"scheduler", measureScheduler}, {"core", coreSteps}} {
		if only != "" && !strings.Contains(","+only+",", ","+m.name+",") {
			continue
		}
		fmt.Printf("\n%s\n", m.name)
		if err := m.run(ctx, bin, d, &r); err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
	}
	fmt.Println()
	return r.print(os.Stdout)
}

func describeMachine() {
	model, memory := "unknown CPU", ""
	for _, line := range fileLines("/proc/cpuinfo") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	for _, line := range fileLines("/proc/meminfo") {
		if value, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			memory = strings.TrimSpace(value)
		}
	}
	load := strings.Join(fileLines("/proc/loadavg"), "")
	fmt.Printf("%s, %d cores, %s, %s/%s %s, load before %s\n", model, runtime.NumCPU(), memory, runtime.GOOS,
		runtime.GOARCH, runtime.Version(), load)
}

// fileLines returns the lines of a file; nil if it cannot be read.
func fileLines(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
