package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// endTimeout is how long the command waits for executors to end. Each executor knows the grace period of its tasks.
const endTimeout = 2 * time.Minute

// runLocalCluster runs until ctx ends, SIGUSR1 arrives or the cluster fails.
func runLocalCluster(ctx context.Context, f clusterFlags, out io.Writer) (err error) {
	opts, err := f.options(f.log.Logger(os.Stderr))
	if err != nil {
		return err
	}
	usr1 := make(chan os.Signal, 1)
	signal.Notify(usr1, syscall.SIGUSR1)
	defer signal.Stop(usr1)
	cluster, err := local.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, func() error { return lifecycle.Within(5*time.Second, cluster.Close) })
	secretFile, err := keepCredentials(f, cluster.Credentials())
	if err != nil {
		return err
	}
	fmt.Fprint(out, f.next(cluster, secretFile))

	ready, stopWaiting := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if cluster.Ready(ready) == nil && opts.Agents > 0 {
			fmt.Fprintln(out, "ready: all agents of this process have registered")
		}
	})
	defer waiting.Wait()
	defer stopWaiting()
	end := f.endAll
	select {
	case err := <-cluster.Failed():
		return err
	case <-usr1:
		end = true
	case <-ctx.Done():
	}
	if !end {
		fmt.Fprintln(out, "ending; executors and their tasks keep running, and the next start finds them again")
		return nil
	}
	fmt.Fprintln(out, "ending all executors and their tasks")
	return lifecycle.Within(endTimeout, cluster.EndExecutors)
}

// keepCredentials returns the file with the credentials for schedulers, and writes it unless --credentials names one.
func keepCredentials(f clusterFlags, own *local.Credentials) (string, error) {
	if own == nil || f.credentials != "" {
		return f.credentials, nil
	}
	path := filepath.Join(f.DataDir, "credentials.json")
	content, err := json.Marshal(map[string]string{"principal": own.Principal, "secret": own.Secret})
	if err == nil {
		err = wholefile.Write(path, append(content, '\n'), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write the credentials for schedulers: %w", err)
	}
	return path, nil
}

// next describes what is running and how to use it.
func (f *clusterFlags) next(cluster *local.Cluster, secretFile string) string {
	var b strings.Builder
	if f.Join != "" {
		fmt.Fprintf(&b, "local agent: %s of master %s; its data is in %s\n", cluster.AgentURL(), f.Join,
			f.DataDir)
		return b.String()
	}
	agents := fmt.Sprint(f.Agents, " agents")
	if f.Agents == 1 {
		agents = "1 agent"
	}
	fmt.Fprintf(&b, "local cluster: master %s with %s; its data is in %s\n", cluster.MasterURL(), agents,
		f.DataDir)
	where := cluster.MasterURL()
	more, agentMore := "", ""
	if f.tlsCert != "" {
		more = " --mesos-ca-file " + f.tlsCert
	}
	if secretFile != "" {
		more += " --mesos-credentials-file " + secretFile
		agentMore = " --credentials " + secretFile
	}
	if f.NoCredentials {
		agentMore = " --no-credentials"
	}
	fmt.Fprintf(&b, "start a scheduler:    scheduler --mesos %s%s\n", where, more)
	if f.tlsCert == "" {
		fmt.Fprintf(&b, "start another agent:  scheduler local-agent --master %s%s --data-dir %s\n", where, agentMore,
			filepath.Join(filepath.Dir(filepath.Clean(f.DataDir)),
				"agent-of-"+where[strings.LastIndex(where, ":")+1:]))
	}
	fmt.Fprintf(&b, "end it with Ctrl-C: executors keep running; kill -USR1 %d ends them first\n", os.Getpid())
	return b.String()
}
