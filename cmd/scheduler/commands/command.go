// Package commands implements the command line of scheduler: the command that runs the server, and the subcommands.
package commands

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/commands/backup"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/commands/localcluster"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/commands/users"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/internal/release"
)

// New returns the command scheduler with all of its subcommands.
func New() *cobra.Command {
	var s *settings.Settings
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Run sharded batch jobs on their cron, on a Mesos cluster, on Kubernetes or on this machine",
		Long: `scheduler publishes apps, registers jobs on them, and runs the jobs' shards.

On this machine, with nothing installed:

  scheduler --local

then open http://127.0.0.1:8899/ for the next steps.

On a Mesos cluster, start two or three of these, anywhere; one leads, and each of them answers:

  scheduler user add NAME --role admin --zk h1:2181,h2:2181
  scheduler --mesos zk://h1:2181,h2:2181/mesos --zk h1:2181,h2:2181 --listen HOST:8899

On Kubernetes, from a pod of it or from anywhere with a kubeconfig:

  scheduler --kubernetes --kubernetes-namespace jobs --registry mysql://user:password@host/database

With --registry instead of --zk, on any cluster, state and election are in a database of MySQL or
MariaDB. With --mesos or --kubernetes and neither of them, the state is kept in a file of --data-dir:
then there is one server and no standby.

Every flag can also be set in the environment: --data-dir as ` + settings.EnvPrefix + `DATA_DIR, and so on. --config
reads ElasticJob-Cloud's properties file; with it, environment variables with the names of its keys count as well.
The order of precedence is: the flag, ` + settings.EnvPrefix +
			`…, the environment variable of the key's name, the file, the default.
A flag or ` + settings.EnvPrefix + `… that is given and empty is refused; empty keys and variables of their names count as not given.`,
		Version:       release.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PreRunE: func(*cobra.Command, []string) error {
			return s.Complete(settings.Environment(os.Environ()), os.Geteuid())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := s.Config()
			if c.CheckOnly {
				return s.Show(cmd.OutOrStdout())
			}
			if err := c.CA.Trust(); err != nil {
				return err
			}
			return server.Run(cmd.Context(), c, os.Stdout)
		},
	}
	cmd.SetVersionTemplate(release.Text("scheduler"))
	commandline.RefuseBadFlags(cmd)
	s = settings.New(cmd.Flags())
	showGroups(cmd, s.Groups())
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(migrateCommand(), readyCommand(), takeoverCommand())
	cmd.AddCommand(users.Commands()...)
	cmd.AddCommand(backup.Commands()...)
	cmd.AddCommand(localcluster.Commands()...)
	return cmd
}
