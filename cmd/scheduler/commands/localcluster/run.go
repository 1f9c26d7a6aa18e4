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

// endTimeout is how long the command waits for executors to end. Each executor gives its tasks their grace period.
const endTimeout = 2 * time.Minute

// runLocalCluster runs a master with agents, or an agent, until ctx ends, SIGUSR1 arrives or the cluster fails. After
// SIGUSR1, and with --end-executors also after ctx ends, it ends all executors before it returns.
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
	credentials, err := credentialsFile(f, cluster.Credentials())
	if err != nil {
		return err
	}
	fmt.Fprint(out, f.nextSteps(cluster, credentials))

	readyCtx, stopWaiting := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if cluster.Ready(readyCtx) == nil && opts.Agents > 0 {
			fmt.Fprintln(out, "ready: all agents of this process have registered")
		}
	})
	defer waiting.Wait()
	defer stopWaiting()
	endExecutors := f.endExecutors
	select {
	case err := <-cluster.Failed():
		return err
	case <-usr1:
		endExecutors = true
	case <-ctx.Done():
	}
	if !endExecutors {
		fmt.Fprintln(out, "ending; executors and their tasks keep running, and the next start finds them again")
		return nil
	}
	fmt.Fprintln(out, "ending all executors and their tasks")
	return lifecycle.Within(endTimeout, cluster.EndExecutors)
}

// credentialsFile returns the path of the file with the credentials for schedulers. It writes the file unless
// --credentials names one. With --no-credentials the path is empty.
func credentialsFile(f clusterFlags, own *local.Credentials) (string, error) {
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

// nextSteps describes what is running, and the commands that use it.
func (f *clusterFlags) nextSteps(cluster *local.Cluster, credentials string) string {
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
	master := cluster.MasterURL()
	schedulerFlags, agentFlags := "", ""
	if f.tlsCert != "" {
		schedulerFlags = " --mesos-ca-file " + f.tlsCert
	}
	if credentials != "" {
		schedulerFlags += " --mesos-credentials-file " + credentials
		agentFlags = " --credentials " + credentials
	}
	if f.NoCredentials {
		agentFlags = " --no-credentials"
	}
	fmt.Fprintf(&b, "start a scheduler:    scheduler --mesos %s%s\n", master, schedulerFlags)
	if f.tlsCert == "" { // with TLS all agents are in this process
		port := master[strings.LastIndex(master, ":")+1:]
		agentDir := filepath.Join(filepath.Dir(filepath.Clean(f.DataDir)), "agent-of-"+port)
		fmt.Fprintf(&b, "start another agent:  scheduler local-agent --master %s%s --data-dir %s\n", master, agentFlags,
			agentDir)
	}
	fmt.Fprintf(&b, "end it with Ctrl-C: executors keep running; kill -USR1 %d ends them first\n", os.Getpid())
	return b.String()
}
