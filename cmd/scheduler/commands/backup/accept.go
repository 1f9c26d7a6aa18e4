package backup

import (
	"fmt"

	"github.com/spf13/cobra"
)

func acceptCommand() *cobra.Command {
	return registryCommand("accept-registry", "Accept a database that lacks commits which servers have seen",
		`accept-registry accepts the database of --registry unchanged. Servers don't lead with a database that lacks
commits which they have seen: it failed over to a replica that was behind, or was restored from a copy. If a copy
with all commits exists, restore that. If none exists, run

  scheduler accept-registry --registry-file FILE

once, on any machine; running servers continue within seconds. The missing commits count as never made: runs that
ended in them may run again, and their changes of apps, jobs and users are lost. Servers refuse users and tokens that
are older than those they have read: restart the servers that log this.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			position, err := r.accept(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "accepted: the registry is at %s, and servers lead with it again\n",
				position)
			return err
		})
}
