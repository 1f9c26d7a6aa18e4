package backup

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

func backupCommand() *cobra.Command {
	var output string
	cmd := registryCommand("backup", "Write everything in the registry to a file, while servers run",
		`backup writes configuration and state, as they are between two commits of the leader, to a file that only its
owner can read:

  scheduler backup --zk h1:2181,h2:2181 --output elasticjob.backup
  scheduler backup --registry-file FILE --output elasticjob.backup

An older file of that name is replaced when the backup is complete. Without --output it goes to standard output.

It holds everything in the registry: the keys that logins are signed with, hashes of passwords, and secrets in
documents of apps and jobs. Keep it where only its owner can read it. scheduler restore reads it into ZooKeeper or
into a database, no matter which of them it is from.
Without --zk and --registry the registry is the file registry.db of the data folder: stop the server and copy that.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			header, nodes, err := r.backup(cmd.Context())
			if err != nil {
				return err
			}
			backup, err := encodeBackup(header, nodes)
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
				"%d nodes written, keys and secrets among them: keep the backup where only its owner can read it\n", len(nodes))
			return nil
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "file that the backup is written to")
	return cmd
}
