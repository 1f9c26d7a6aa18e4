// Package backup implements the commands that work on a whole registry that several servers share: backup, restore
// and accept-registry.
package backup

import "github.com/spf13/cobra"

// Commands returns scheduler backup, scheduler restore and scheduler accept-registry.
func Commands() []*cobra.Command {
	return []*cobra.Command{backupCommand(), restoreCommand(), acceptCommand()}
}
