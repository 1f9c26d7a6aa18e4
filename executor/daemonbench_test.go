package executor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// buildResident builds the program of the resident process, and returns its path.
func buildResident(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "resident")
	build := exec.Command("go", "build", "-o", program, "./testdata/resident")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// startResidents starts count resident shards, and waits until each has had a run.
func startResidents(b *testing.B, a *fakeAgent, count int) {
	b.Helper()
	program := buildResident(b)
	for i := range count {
		task := daemonOf(fmt.Sprint("d", i), "")
		task.Package, task.Command, task.Item = wire.Package{}, []string{program}, i
		a.launch(task)
	}
	for i := range count {
		a.awaitRuns(fmt.Sprint("d", i), wire.RunFinished, 1)
	}
}

// latencies returns the sorted latencies that residents wrote after the first skip runs of each.
func latencies(b *testing.B, a *fakeAgent, skip int) (all []time.Duration) {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join(a.sandbox, "tasks/*/stdout"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for _, line := range strings.Fields(string(text))[skip:] {
			n, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Duration(n))
		}
	}
	slices.Sort(all)
	return all
}

func reportLatencies(b *testing.B, all []time.Duration) {
	b.ReportMetric(float64(all[len(all)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(all[len(all)-1])/1e6, "max-ms")
}

// cpuOf returns how much processor time a process has used.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	const user, system, tick = 11, 12, 10 * time.Millisecond
	var total time.Duration
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += time.Duration(n) * tick
	}
	return total
}

// BenchmarkResidentFire measures the time from the cron's fire time to the first line of a resident process's
// function. An operation is one fire, once a second: -benchtime=100x takes 100 seconds.
func BenchmarkResidentFire(b *testing.B) {
	a := newAgent(b)
	startResidents(b, a, 1)
	for n := 3; b.Loop(); n++ {
		a.awaitRuns("d0", wire.RunFinished, n)
	}
	reportLatencies(b, latencies(b, a, 2))
}

// BenchmarkManyShards fires 500 resident shards every second; an operation is one second. It fails if a fire is
// missed.
func BenchmarkManyShards(b *testing.B) {
	const count = 500
	a := newAgent(b)
	startResidents(b, a, count)
	a.until("two more runs of the first", func() bool { return len(a.runs("d0")) >= 3 })
	pid := a.cmd.Process.Pid
	parts := slices.DeleteFunc(inSession(pid), func(p int) bool {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(p) + "/comm")
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(p) + "/cmdline")
		return p == pid || err != nil || !strings.HasPrefix(string(line), "executor\x00supervisor") &&
			strings.TrimSpace(string(name)) != "exe"
	})
	if len(parts) != 1 {
		b.Fatalf("the supervisor is one of %v", parts)
	}
	used, begin := cpuOf(b, pid)+cpuOf(b, parts[0]), time.Now()
	<-time.After(time.Duration(b.N) * time.Second)
	cpu := cpuOf(b, pid) + cpuOf(b, parts[0]) - used
	b.ReportMetric(100*cpu.Seconds()/time.Since(begin).Seconds(), "%core")
	missed := int64(0)
	for i := range count {
		id := fmt.Sprint("d", i)
		a.kill(id)
		_, status := a.await(id, mesos.TASK_KILLED)
		missed += status.Totals.Skipped
		a.mu.Lock()
		runs := a.runs(id)
		a.mu.Unlock()
		fires := map[int64]bool{}
		for _, r := range runs {
			fires[r.Fire.Unix()] = true
		}
		missed += runs[len(runs)-1].Fire.Unix() - runs[0].Fire.Unix() + 1 - int64(len(fires))
	}
	b.ReportMetric(float64(missed), "missed")
	if missed > 0 {
		b.Errorf("%d fires were missed", missed)
	}
	reportLatencies(b, latencies(b, a, 2))
}

// BenchmarkResidentMemory measures the executor's own memory with 100 resident shards.
func BenchmarkResidentMemory(b *testing.B) {
	a := newAgent(b)
	startResidents(b, a, 100)
	for n := 2; b.Loop(); n++ {
		a.awaitRuns("d99", wire.RunFinished, n)
	}
	b.ReportMetric(float64(memoryOf(b, a.cmd.Process.Pid, "VmRSS"))/(1<<20), "MB")
}
