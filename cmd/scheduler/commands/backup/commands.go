// Package backup has the commands about the whole of a registry that servers share: backup, restore, and
// accept-registry.
package backup

import "github.com/spf13/cobra"

// Commands are scheduler backup, scheduler restore and scheduler accept-registry.
func Commands() []*cobra.Command {
	return []*cobra.Command{backupCommand(), restoreCommand(), acceptCommand()}
}
