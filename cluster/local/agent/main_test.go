package agent

import (
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/fakeexecutor"
)

// The test binary has several roles: the tests, the executors that the agent under test starts, and a server process
// that is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_ROLE") {
	case "executor":
		os.Exit(runExecutor(os.Args[1:]))
	case "server":
		runServer()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runExecutor acts as an executor and follows its arguments.
func runExecutor(args []string) int {
	_ = os.WriteFile("env", []byte(strings.Join(os.Environ(), "\n")), 0o600)
	fmt.Println("executor says hello")
	switch {
	case slices.Contains(args, "die-early"):
		return 3
	case slices.Contains(args, "deaf"):
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(math.MaxInt64) // the runtime would end a process whose goroutines are all blocked
	}
	return fakeexecutor.Run(fakeexecutor.Options{Agent: "http://" + os.Getenv("MESOS_AGENT_ENDPOINT"),
		Stubborn: slices.Contains(args, "stubborn")})
}
