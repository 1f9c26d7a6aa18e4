package backup

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

func backupCommand() *cobra.Command {
	var output string
	cmd := registryCommand("backup", "Write all that the registry holds to a file, while servers run",
		`backup writes configuration and state, as they are between two commits of the leader, to a file for its owner only:

  scheduler backup --zk h1:2181,h2:2181 --output elasticjob.backup
  scheduler backup --registry-file FILE --output elasticjob.backup

An older file of that name stays as it is until the backup is whole. Without --output it goes to standard output.

It holds all that the registry holds: the keys that logins are signed with, hashes of passwords, and secrets that are written into
documents of apps and jobs. Keep it where only its owner can read it. scheduler restore reads it, into ZooKeeper or into a database, wherever it is from.
Without --zk and --registry the registry is the file registry.db of the data folder: stop the server and copy that.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			header, nodes, err := r.backup(cmd.Context())
			if err != nil {
				return err
			}
			backup, err := backupOf(header, nodes)
			switch {
			case err != nil:
			case output != "":
				err = wholefile.Write(output, backup, 0o600)
			default:
				_, err = cmd.OutOrStdout().Write(backup)
			}
			if err != nil {
				return fmt.Errorf("write the backup: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%d nodes written; there are keys and secrets among them: keep the backup where only its owner can read it\n", len(nodes))
			return nil
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "file that the backup becomes once it is whole")
	return cmd
}
