package local

import (
	"fmt"
	"net/http"
	"os"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/test/fakeexecutor"
)

// runExecutor acts as an executor and returns its exit status.
func runExecutor() int {
	config, err := executor.FromEnvironment(ofItsRelease)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config.TLS}}
	return fakeexecutor.Run(fakeexecutor.Options{Agent: config.Agent, Client: client, Token: os.Getenv(tokenVariable)})
}

// ofItsRelease returns an environment variable as the executor of a release reads it. An older release ignores the
// variable about TLS.
func ofItsRelease(name string) string {
	if os.Getenv(actAsExecutor) == olderRelease && name == agent.TLSVariable {
		return ""
	}
	return os.Getenv(name)
}
