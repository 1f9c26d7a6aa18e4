package backup

import (
	"fmt"

	"github.com/spf13/cobra"
)

func acceptCommand() *cobra.Command {
	return registryCommand("accept-registry", "Lead on with a database that lacks what servers have seen in it",
		`accept-registry makes what is in the database of --registry what counts. Servers don't lead with a database that lacks
commits which they have seen: it failed over to a replica that was behind, or was restored from a copy. Bring back the one that
has all, if there is one. If there is none:

  scheduler accept-registry --registry-file FILE

once, on any machine; servers that run go on within seconds. What was decided since counts as not done: runs that have ended since may run again,
and changes of apps, jobs and users are gone. Servers take none of users and tokens that are older than those they have read: if
they say so, start them again.`,
		func(cmd *cobra.Command, r electedRegistry) error {
			what, err := r.accept(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "accepted: the registry is at %s, and servers lead on with it\n",
				what)
			return err
		})
}
