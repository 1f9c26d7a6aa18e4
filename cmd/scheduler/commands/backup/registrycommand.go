package backup

import (
	"errors"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// registryCommand creates a command that works on a shared registry. It accepts all flags of the server, and --help
// shows those that name the registry.
func registryCommand(use, short, long string, run func(*cobra.Command, electedRegistry) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, SilenceErrors: true, SilenceUsage: true}
	commandline.RefuseBadFlags(cmd)
	s := settings.New(cmd.Flags())
	shown := []string{"zk", "zk-namespace", "zk-digest-file", "registry", "registry-file", "ca-file", "config"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
	cmd.PreRunE = func(*cobra.Command, []string) error {
		return s.CompleteRegistry(settings.Environment(os.Environ()))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c := s.Config()
		if err := c.CA.Trust(); err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		switch {
		case c.Registry.DSN != "":
			o := c.Registry.Options()
			o.Logger = log
			return run(cmd, inSQL{o})
		case c.ZooKeeper.Servers != "":
			o := c.ZooKeeper.Options()
			o.Logger = log
			return run(cmd, inZooKeeper{o})
		}
		return errors.New("--zk or --registry is missing: without them the registry is the file registry.db of the data folder, which is copied while the server is stopped")
	}
	return cmd
}
