package backup

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func restoreCommand() *cobra.Command {
	var open bool
	cmd := registryCommand("restore", "Read a backup from standard input into an empty namespace of ZooKeeper, or an empty database",
		`restore writes a backup of scheduler backup into an empty or missing namespace, or into a database without a registry:

  scheduler restore --zk h1:2181,h2:2181 <elasticjob.backup
  scheduler restore --registry-file FILE <elasticjob.backup

Stop all servers before, and start them when it has ended. What has happened since the backup is not in it: runs that were in
progress then and have ended since may run again. With --zk-digest-file all nodes are created for that user only, as they must be if they were before.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			header, nodes, err := readBackup(cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := r.restore(cmd.Context(), header, nodes, open); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%d nodes restored from a backup of release %s (%s, %s): start the servers\n",
				len(nodes), header.Release, header.location(), header.Taken.UTC().Format(time.RFC3339))
			return nil
		})
	cmd.Flags().BoolVar(&open, "open", false,
		"without --zk-digest-file, let everyone who reaches ZooKeeper read nodes that only one user could read")
	return cmd
}
