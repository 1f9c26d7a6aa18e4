// Package localcluster implements the commands that run a Mesos cluster on one machine for trials and tests:
// local-cluster runs the master with agents, local-agent an additional agent.
package localcluster

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// Commands returns scheduler local-cluster and scheduler local-agent.
func Commands() []*cobra.Command { return []*cobra.Command{masterCommand(), agentCommand()} }

func masterCommand() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "local-cluster",
		Short: "Run a Mesos cluster of one machine, for trials and tests: a master and its agents, in one process",
		Long: `local-cluster is the cluster of scheduler --local as a process of its own: a master that speaks
Mesos' v1 HTTP API, and agents. Schedulers, and agents in processes of their own, find it by its
address, which stays the same after a restart.

SIGTERM, SIGINT and kill -9 leave executors and their tasks running, as with Mesos' agents;
the next start with the same folder finds them again. SIGUSR1 ends them all first, and
so do SIGTERM and SIGINT with --end-executors. --give-up-executors kills the executors that an
earlier run left. A master restarted with --registry file (the default) remembers its
frameworks and agents; with in_memory it remembers nothing.

Operators' calls (POST /api/v1, with the credentials): GET_AGENTS, MARK_AGENT_GONE, TEARDOWN.
The agents' hostnames and addresses are 127.0.0.1, 127.0.0.2 and so on. For maintenance, roles, quotas and
reservations, and for standby masters, use a real Mesos.`,
	}
	flags := f.prepare(cmd)
	flags.StringVar(&f.Listen, "listen", "127.0.0.1:5050",
		"address of the master's API: an IPv4 address of this machine only")
	flags.IntVar(&f.Agents, "agents", 1, "how many agents run in this process; 0 for a master alone (see local-agent)")
	flags.StringVar(&f.tlsCert, "tls-cert", "",
		"PEM file of the certificate and those of its issuers: the API is then https only, and all agents are in this process")
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
	f.addShared(flags)
	return cmd
}

func agentCommand() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "local-agent",
		Short: "Run one more agent of a local-cluster, as a process of its own",
		Long: `local-agent is an agent that registers with the master of a local-cluster, over HTTP; a real Mesos
master does not accept it. When it has lost its master it tries to register until the master is back.

SIGTERM, SIGINT and kill -9 leave its executors and their tasks running; the next start on the same
folder finds them again. SIGUSR1 ends them first, and so do SIGTERM and SIGINT with
--end-executors.`,
	}
	flags := f.prepare(cmd)
	flags.StringVar(&f.Join, "master", "http://127.0.0.1:5050", "the local-cluster's master: http://host:port")
	flags.StringVar(&f.ip, "ip", "127.0.0.1",
		"the agent's address and hostname: an IPv4 address of this machine only")
	f.addShared(flags)
	f.Agents = 1
	return cmd
}

// prepare makes the command run a cluster with these flags. It returns the command's flag set, to which the caller
// adds the flags.
func (f *clusterFlags) prepare(cmd *cobra.Command) *pflag.FlagSet {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	commandline.RefuseBadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runLocalCluster(cmd.Context(), *f, os.Stdout) }
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return commandline.RefuseEmpty(cmd.Flags()) }
	cmd.Flags().SortFlags = false
	return cmd.Flags()
}
