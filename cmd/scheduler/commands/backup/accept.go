package backup

import (
	"fmt"

	"github.com/spf13/cobra"
)

func acceptCommand() *cobra.Command {
	return registryCommand("accept-registry", "Accept a database that lacks commits which servers have seen",
		`accept-registry accepts the database of --registry as it is. Servers don't lead with a database that lacks
commits which they have seen: it failed over to a replica that was behind, or was restored from a copy. Restore the one that
has all, if there is one. If there is none:

  scheduler accept-registry --registry-file FILE

once, on any machine; running servers continue within seconds. What was decided since counts as not done: runs that have ended since may run again,
and changes of apps, jobs and users are gone. Servers refuse users and tokens that are older than those they have read: if
they say so, restart them.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			what, err := r.accept(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "accepted: the registry is at %s, and servers lead with it again\n",
				what)
			return err
		})
}
