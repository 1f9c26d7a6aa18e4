package examples_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// second types the second block of an example's README.
func (r *reader) second(name string) {
	r.Helper()
	folder := filepath.Join("examples", name)
	r.types(folder, r.blocks(filepath.Join(folder, "README.md"))[1])
}

// untilWrote waits until the output of shard 0 of a daemon matches want, and returns the match and its groups.
func (r *reader) untilWrote(job string, want *regexp.Regexp) (found []string) {
	r.Helper()
	r.Until(job+" writes "+want.String(), func() string {
		wrote := ""
		for _, running := range r.Explain(job).Running {
			if running.Item == 0 && running.TaskID != "" {
				a, err := r.Try("GET", "/api/task/"+running.TaskID+"/logs", "")
				if err != nil {
					return err.Error()
				}
				wrote += a.Body
			}
		}
		if found = want.FindStringSubmatch(wrote); found == nil {
			return "it wrote " + wrote
		}
		return ""
	})
	return found
}

func TestGoSimpleDaemon(t *testing.T) {
	r := follow(t)
	r.example("go-simple")
	r.second("go-simple")
	r.untilWrote("primes_daemon", regexp.MustCompile(`^(shard 0 of 2: 5133 primes from 0 to 49999\n){2}`))
}

// TestALongRun: the progress that a run reports is shown while it runs. After timeoutSeconds it is timed out,
// although its resident process ends normally.
func TestALongRun(t *testing.T) {
	r := follow(t)
	r.example("go-simple")
	long := system.Doc{"jobParameter": "100000000000", "maxRetries": 0}
	r.Job("long", "primes", long)
	id := r.Trigger("long")
	r.Until("the run's progress is seen", func() string {
		var e struct {
			Shards []struct {
				Progress struct {
					Fraction float64
					Message  string
				}
			}
		}
		r.Get("/api/execution/"+id, &e)
		if len(e.Shards) != 1 || e.Shards[0].Progress.Message != "counting" || e.Shards[0].Progress.Fraction <= 0 {
			return fmt.Sprintf("%+v", e)
		}
		return ""
	})
	r.OK("POST", "/api/execution/"+id+"/kill", "")
	r.Await(id, "KILLED")
	r.Update("long", system.Doc{"timeoutSeconds": 1})
	if e := r.Run("long", "FAILED"); e.Shards[0].State != "TIMED_OUT" {
		t.Errorf("%+v", e)
	}
}

func TestGoDataflowDaemon(t *testing.T) {
	r := follow(t)
	r.example("go-dataflow")
	done, texts := filepath.Join(r.tmp, "spool", "done"), names(t, filepath.Join(r.clone, "examples/wordcount/texts"))
	if err := os.RemoveAll(done); err != nil {
		t.Fatal(err)
	}
	r.second("go-dataflow")
	r.Until("all files are counted again", func() string {
		files, err := filepath.Glob(filepath.Join(done, "*"))
		if err != nil {
			return err.Error()
		}
		if len(files) != len(texts) {
			return fmt.Sprint(files)
		}
		return ""
	})
}

// TestPythonResidentDaemon: one process executes all runs.
func TestPythonResidentDaemon(t *testing.T) {
	r := follow(t)
	r.example("python-resident")
	r.second("python-resident")
	found := r.untilWrote("worker_daemon",
		regexp.MustCompile(`run 1 of process (\d+): shard 0 of 2\nrun 2 of process (\d+): shard 0 of 2\n`))
	if found[1] != found[2] {
		t.Errorf("run 1 was of process %s, run 2 of %s", found[1], found[2])
	}
}

func TestWriteADaemon(t *testing.T) {
	r := follow(t)
	for _, block := range r.inGo() {
		r.types("", block)
	}
	r.untilWrote("hello_daemon", regexp.MustCompile(`^row 0\n(row \d\n)+row 0\n`))
}

func TestHTTPJob(t *testing.T) {
	r := follow(t)
	folder := filepath.Join("examples", "http-job")
	target, rest, _ := strings.Cut(r.blocks(filepath.Join(folder, "README.md"))[0], "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(r.types(folder, target+"\necho $!")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	r.Until("the target listens", func() string {
		conn, err := net.Dial("tcp", r.replacer.Replace("127.0.0.1:8090"))
		if err != nil {
			return err.Error()
		}
		if err := conn.Close(); err != nil {
			return err.Error()
		}
		return ""
	})
	job := filepath.Join(r.clone, folder, "job.json")
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(job, []byte(r.replacer.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	r.triggered(r.types(folder, rest))
	said, err := os.ReadFile(filepath.Join(r.clone, folder, "said"))
	if err != nil {
		t.Fatal(err)
	}
	for item := range 2 {
		want := regexp.MustCompile(fmt.Sprintf(`(?m)^POST /clean-up \{.*"shardingItem":%d\b.*\} days=7$`, item))
		if n := len(want.FindAll(said, -1)); n != 1 {
			t.Errorf("%d requests like %s in\n%s", n, want, said)
		}
	}
}
