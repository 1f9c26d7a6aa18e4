package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

// clusterFlags are those of local-cluster and local-agent.
type clusterFlags struct {
	local.Options
	ip          string
	credentials string
	tlsCert     string
	tlsKey      string
	registry    string
	endAll      bool
	log         logging
}

const registryFile, registryInMemory = "file", "in_memory"

func localClusterCommand() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "local-cluster",
		Short: "Run a Mesos cluster of one machine, for trials and tests: a master and its agents, in one process",
		Long: `local-cluster is what scheduler --local brings, as a process of its own: a master that speaks
Mesos' v1 HTTP API, and agents. Schedulers, and agents in processes of their own, find it by its
address, which stays the same when it is started again.

SIGTERM, SIGINT and kill -9 leave executors and their tasks running, as with Mesos' agents;
the next start on the same folder finds them again. SIGUSR1 ends them all first, and
so do SIGTERM and SIGINT with --end-executors. --give-up-executors kills what an earlier
run left. A master restarted with --registry file (the default) remembers its
frameworks and agents; with in_memory it remembers nothing.

Operators' calls (POST /api/v1, with the credentials): GET_AGENTS, MARK_AGENT_GONE, TEARDOWN.
The agents are at 127.0.0.1, 127.0.0.2 and so on, hostname and ip alike. For maintenance, roles, quotas and
reservations, and for masters that stand by for each other, take a real Mesos.`,
	}
	flags := f.command(cmd)
	flags.StringVar(&f.Listen, "listen", "127.0.0.1:5050",
		"address of the master's API: an IPv4 address of this machine only")
	flags.IntVar(&f.Agents, "agents", 1, "how many agents run in this process; 0 for a master alone, see local-agent")
	flags.StringVar(&f.tlsCert, "tls-cert", "",
		"PEM file of the certificate, and those that signed it: https is spoken then, and nothing else; all agents are in this process")
	flags.StringVar(&f.tlsKey, "tls-key", "", "PEM file of the certificate's key")
	flags.StringVar(&f.registry, "registry", registryFile,
		"what the master remembers after a restart: file, or in_memory for nothing")
	flags.DurationVar(&f.AgentPingTimeout, "agent-ping-timeout", local.DefaultAgentPingTimeout,
		"how long an agent has to answer a ping")
	flags.IntVar(&f.MaxAgentPingTimeouts, "max-agent-ping-timeouts", local.DefaultMaxAgentPingTimeouts,
		"after how many missed pings an agent is unreachable")
	flags.DurationVar(&f.AgentReregisterTimeout, "agent-reregister-timeout", local.DefaultAgentReregisterTimeout,
		"how long agents have to come back after the master's restart")
	flags.DurationVar(&f.Heartbeat, "heartbeat", local.DefaultHeartbeat, "interval of the heartbeats to frameworks")
	f.shared(flags)
	return cmd
}

func localAgentCommand() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "local-agent",
		Short: "Run one more agent of a local-cluster, as a process of its own",
		Long: `local-agent is an agent that registers with the master of a local-cluster, over HTTP; it is
no agent for a real Mesos master. Whenever it loses its master it registers again, until the master is back.

SIGTERM, SIGINT and kill -9 leave its executors and their tasks running; the next start on the same
folder finds them again. SIGUSR1 ends them first, and so do SIGTERM and SIGINT with
--end-executors.`,
	}
	flags := f.command(cmd)
	flags.StringVar(&f.Join, "master", "http://127.0.0.1:5050", "the local-cluster's master: http://host:port")
	flags.StringVar(&f.ip, "ip", "127.0.0.1",
		"the agent's address, an IPv4 address of this machine only; its hostname, too")
	f.shared(flags)
	f.Agents = 1
	return cmd
}

// command completes a command that runs what the flags say, and gives its flags.
func (f *clusterFlags) command(cmd *cobra.Command) *pflag.FlagSet {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	refuseBadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runLocalCluster(cmd.Context(), *f, os.Stdout) }
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return refuseEmpty(cmd.Flags()) }
	cmd.Flags().SortFlags = false
	return cmd.Flags()
}

// shared are the flags of both commands.
func (f *clusterFlags) shared(flags *pflag.FlagSet) {
	flags.StringVar(&f.DataDir, "data-dir", "", "folder of all that is kept; each process has its own (required)")
	flags.Float64Var(&f.CPUs, "cpus", 0,
		"CPUs that each agent offers (default: this machine's, divided among the agents)")
	flags.Float64Var(&f.MemoryMB, "memory", 0,
		"memory that each agent offers, in MB (default: three quarters of this machine's, divided among the agents)")
	flags.StringVar(&f.credentials, "credentials", "",
		`file with the principal and secret that this cluster asks for, {"principal":…,"secret":…} (default: made once, in credentials.json of the data folder)`)
	flags.BoolVar(&f.NoCredentials, "no-credentials", false, "let everybody of this machine use the APIs")
	flags.BoolVar(&f.GiveUpExecutors, "give-up-executors", false,
		"end the executors that an earlier run left behind, instead of finding them again")
	flags.BoolVar(&f.endAll, "end-executors", false, "end executors and their tasks at SIGTERM and SIGINT, too")
	f.log.flags(flags)
}

// options are the cluster's, or all that is wrong with the flags.
func (f *clusterFlags) options(log *slog.Logger) (local.Options, error) {
	var bad complaints
	o := f.Options
	o.Logger, o.InMemoryRegistry = log, f.registry == registryInMemory
	if f.Agents == 0 {
		o.Agents = -1
	}
	bad.unless(f.DataDir != "", "--data-dir: name a folder for what is kept")
	if f.Join == "" {
		f.checkMaster(&bad)
	} else {
		ip, err := netip.ParseAddr(f.ip)
		bad.unless(err == nil && ip.Is4() && ip.IsLoopback(),
			"--ip %q: want an IPv4 address of this machine only, such as 127.0.0.2", f.ip)
		o.AgentIP = ip
		bad.unless(strings.HasPrefix(f.Join, "http://"), "--master %q: want http://host:port", f.Join)
	}
	share := float64(max(f.Agents, 1))
	o.CPUs = cmp.Or(f.CPUs, float64(runtime.NumCPU())/share)
	o.MemoryMB = cmp.Or(f.MemoryMB, float64(int(defaultMemory()/share)))
	bad.checkMachine("--", o.CPUs, o.MemoryMB)
	if f.NoCredentials && f.credentials != "" {
		bad.add("--no-credentials and --credentials contradict each other")
	} else if f.credentials != "" {
		read, err := mesos.ReadCredentials(f.credentials)
		bad.about("--credentials", err)
		if err == nil {
			o.Secret = &local.Credentials{Principal: read.User, Secret: read.Secret}
		}
	}
	switch {
	case (f.tlsCert == "") != (f.tlsKey == ""):
		bad.add("--tls-cert and --tls-key belong together")
	case f.tlsCert != "":
		pair, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		bad.about("--tls-cert and --tls-key", err)
		o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	f.log.check(&bad)
	return o, errors.Join(bad...)
}

// checkMaster refuses what no master can have.
func (f *clusterFlags) checkMaster(bad *complaints) {
	// IPv4 is all that Mesos' MasterInfo can hold.
	at, err := netip.ParseAddrPort(strings.Replace(f.Listen, "localhost:", "127.0.0.1:", 1))
	bad.unless(err == nil && at.Addr().Is4() && at.Addr().IsLoopback(),
		"--listen %q: want 127.0.0.1:port: the cluster is for this machine only", f.Listen)
	bad.unless(f.AgentPingTimeout > 0 && f.MaxAgentPingTimeouts > 0 && f.AgentReregisterTimeout > 0 && f.Heartbeat > 0,
		"--agent-ping-timeout, --max-agent-ping-timeouts, --agent-reregister-timeout and --heartbeat must be more than 0")
	bad.unless(f.registry == registryFile || f.registry == registryInMemory, "--registry %q: want file or in_memory",
		f.registry)
	bad.unless(f.Agents >= 0 && f.Agents <= 100, "--agents %d: want 0 to 100", f.Agents)
}

// endPatience is how long executors may take to end: each says itself how long its tasks are given.
const endPatience = 2 * time.Minute

// runLocalCluster runs until ctx ends, SIGUSR1 comes or the cluster can't go on.
func runLocalCluster(ctx context.Context, f clusterFlags, out io.Writer) (err error) {
	opts, err := f.options(f.log.logger(os.Stderr))
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
	defer closing(&err, func() error { return within(5*time.Second, cluster.Close) })
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
		fmt.Fprintln(out, "ending; executors and their tasks go on, and are found again at the next start")
		return nil
	}
	fmt.Fprintln(out, "ending all executors and their tasks")
	return within(endPatience, cluster.EndExecutors)
}

// keepCredentials writes what schedulers are to be given where they find it.
func keepCredentials(f clusterFlags, own *local.Credentials) (string, error) {
	if own == nil || f.credentials != "" {
		return f.credentials, nil
	}
	path := filepath.Join(f.DataDir, "credentials.json")
	content, err := json.Marshal(map[string]string{"principal": own.Principal, "secret": own.Secret})
	if err == nil {
		err = writeWhole(path, append(content, '\n'), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write the credentials for schedulers: %w", err)
	}
	return path, nil
}

// next says what runs and what to do with it.
func (f *clusterFlags) next(cluster *local.Cluster, secretFile string) string {
	var b strings.Builder
	if f.Join != "" {
		fmt.Fprintf(&b, "local agent: %s, of the master %s; its data is in %s\n", cluster.AgentURL(), f.Join,
			f.DataDir)
		return b.String()
	}
	agents := fmt.Sprint(f.Agents, " agents")
	if f.Agents == 1 {
		agents = "1 agent"
	}
	fmt.Fprintf(&b, "local cluster: the master is %s, with %s; its data is in %s\n", cluster.MasterURL(), agents,
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
	fmt.Fprintf(&b, "end it with Ctrl-C: executors go on; kill -USR1 %d ends them first\n", os.Getpid())
	return b.String()
}
