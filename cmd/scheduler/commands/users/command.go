package users

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// accountCommand has the settings and flags of a command about users or tokens. Each command uses some of the flags.
type accountCommand struct {
	config  settings.Config
	role    string
	apps    []string
	allApps bool
	expires string
	json    bool
}

// parent creates the command that has the others as its subcommands. Alone it prints its help.
func (p *accountCommand) parent(use, short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	commandline.RefuseBadFlags(cmd)
	return cmd
}

// named creates a command that works on the user or token whose name is its argument.
func (p *accountCommand) named(use, short string, run func(cmd *cobra.Command, name string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, SilenceErrors: true, SilenceUsage: true}
	p.prepare(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return fmt.Errorf("exactly one name is required: %s NAME; %s --help lists all flags", cmd.CommandPath(),
				cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) }
	return cmd
}

// list creates the command list.
func (p *accountCommand) list(short string, run func(cmd *cobra.Command) error) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: short, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) }}
	p.prepare(cmd)
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON, in the form of the API's answers")
	return cmd
}

// registryFlags are the server's flags that determine where its users and tokens are stored.
var registryFlags = []string{"local", "mesos", "data-dir", "zk", "zk-namespace", "zk-digest-file", "registry",
	"registry-file", "ca-file", "config"}

// prepare adds all flags of the server, so that a user can repeat the server's command line unchanged. --help shows
// only the registryFlags, because the others have no effect.
func (p *accountCommand) prepare(cmd *cobra.Command) {
	commandline.RefuseBadFlags(cmd)
	s := settings.New(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(registryFlags, f.Name) })
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		err := s.CompleteRegistry(settings.Environment(os.Environ()))
		if p.config = s.Config(); err == nil {
			err = p.config.CA.Trust()
		}
		return err
	}
}

func (p *accountCommand) grantFlags(f *pflag.FlagSet) {
	f.StringVar(&p.role, "role", "", "admin, operator, viewer or metrics")
	f.StringSliceVar(&p.apps, "apps", nil,
		"apps that the role is for, as patterns such as billing-*, separated by commas (default: all)")
}

// grant returns the role and apps that the flags name.
func (p *accountCommand) grant() (auth.Grant, error) {
	if p.role == "" {
		return auth.Grant{}, errors.New("--role is missing: it must be admin, operator, viewer or metrics")
	}
	role, err := auth.ParseRole(p.role)
	if err != nil {
		return auth.Grant{}, fmt.Errorf("--role %q: %w", p.role, err)
	}
	if why := auth.CheckApps(p.apps); why != "" {
		return auth.Grant{}, fmt.Errorf("--apps %s", why)
	}
	return auth.Grant{Role: role, Apps: p.apps}, nil
}
