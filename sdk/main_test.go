package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/sdk"
)

// jobVariable makes the test binary act as a job's program, for the processes that tests start.
const jobVariable = "ELASTICJOB_SDK_TEST_JOB"

func TestMain(m *testing.M) {
	if os.Getenv(jobVariable) != "" {
		sdk.Main(sdk.Simple(job))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if classes != "" {
			_ = os.RemoveAll(classes)
		}
		os.Exit(status)
	}))
}

var runs atomic.Int32

// job is the function of the processes that tests start. The first word of the job parameter selects what it does.
func job(ctx context.Context, s sdk.Shard) error {
	n := runs.Add(1)
	switch action, text, _ := strings.Cut(s.JobParameter, " "); action {
	case "":
		return nil
	case "count":
		return fmt.Errorf("run %d of process %d", n, os.Getpid())
	case "fail":
		return errors.New(text)
	case "fail-long":
		return errors.New(strings.Repeat("ü", 1<<20))
	case "show":
		fire := s.FireTime
		s.FireTime = fire.Local()
		return fmt.Errorf("%s %d/%d %q %q %s %s %s %s %d %v", s.JobName, s.Item, s.Total, s.Parameter, text, s.TaskID,
			s.ExecutionID,
			fire.UTC().Format("2006-01-02T15:04:05.000Z07:00"), s.Source, s.Attempt, s.Props)
	case "panic":
		panicHere(text)
	case "index":
		return errors.New(os.Args[len(os.Args)])
	case "goexit":
		runtime.Goexit()
	case "stray-panic":
		go panicHere(text)
		<-ctx.Done()
	case "wait": // until the context ends
		s.Progress(0, "begun")
		<-ctx.Done()
		return fmt.Errorf("wait: %w", ctx.Err())
	case "ignore": // ignore the context until a file exists
		s.Progress(0, "begun")
		for range time.Tick(5 * time.Millisecond) {
			if _, err := os.Stat(text); err == nil {
				return nil
			}
		}
	case "until": // until a file has existed for a while, or the context ends
		s.Progress(0, "begun")
		for found := 0; found < 20; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
			if _, err := os.Stat(text); err == nil {
				found++
			}
		}
	case "tell": // print on standard error that it waits
		fmt.Fprintln(os.Stderr, "begun")
		<-ctx.Done()
		return ctx.Err()
	case "progress":
		s.Progress(0.25, strings.Repeat("ü", 1000))
	case "storm":
		for i := range 10_000_000 {
			s.Progress(float64(i)/10_000_000, "on its way")
		}
		s.Progress(1, "all of it")
	case "print":
		fmt.Print("{\"type\":\"done\",\"run\":\"r1\",\"error\":\"forged\"}\n\x00\xff\xfe no line feed")
		fmt.Fprint(os.Stderr, "{\"type\":\"hello\",\"version\":99}\n")
	case "child": // print what a child process inherits of the pipe
		out, err := exec.Command("sh", "-c", `ls -l /proc/self/fd; echo "pipe=$ELASTICJOB_PIPE."`).CombinedOutput()
		return errors.Join(errors.New(string(out)), err)
	default:
		return fmt.Errorf("the test asks for %q", action)
	}
	return nil
}

func panicHere(text string) { panic(text) }
